package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.oci.ImageRef;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "save",
    description = "Save images as an archive that docker load and OCI tools read.",
    footer = {"", "Example:  zlayer image save -o app.tar app:1"})
public final class SaveCommand extends ClientCommand {
  @Option(
      names = {"-o", "--output"},
      paramLabel = "FILE",
      description = "Where to (default: standard output, which must not be a terminal).")
  private @Nullable String output;

  @Parameters(paramLabel = "IMAGE", arity = "1..*", description = "What to save.")
  private List<String> images = List.of();

  public SaveCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    List<String> wanted = images.stream().map(ImageRef::parse).map(ImageRef::familiar).toList();
    if (output == null && session.terminal()) {
      throw new AgentException.InvalidSpec(
          "a terminal is no place for an archive: use --output FILE or redirect");
    }
    try (HttpResponse archive = client.download("/images/save", Query.NONE.all("ref", wanted))) {
      if (output == null) {
        archive.body().transferTo(session.out());
        session.out().flush();
      } else {
        toFile(archive, session.resolve(output));
      }
    }
    return 0;
  }

  /** A failed save leaves no file, and an older one as it was. */
  private static void toFile(HttpResponse archive, Path file) throws IOException {
    Path partial = file.resolveSibling(file.getFileName() + ".partial");
    try {
      try (OutputStream out = Files.newOutputStream(partial)) {
        archive.body().transferTo(out);
      }
      Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(partial);
    }
  }
}
