package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.Archive;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.oci.ImageRef;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "save",
    description = "Save images to a tar archive for docker load and OCI tools",
    footer = {"", "Example:  zlayer image save -o app.tar app:1"})
public final class SaveCommand extends ClientCommand {
  @Option(
      names = {"-o", "--output"},
      paramLabel = "FILE",
      description = Archive.WHERE)
  private @Nullable String output;

  @Parameters(paramLabel = "IMAGE", arity = "1..*", description = "Image reference")
  private List<String> images = List.of();

  public SaveCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    List<String> wanted = images.stream().map(ImageRef::parse).map(ImageRef::familiar).toList();
    Archive.requirePlace(session, output);
    Archive.keep(session, output, client.download("/images/save", Query.NONE.all("ref", wanted)));
    return 0;
  }
}
