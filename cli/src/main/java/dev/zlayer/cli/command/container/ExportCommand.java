package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.Archive;
import dev.zlayer.cli.command.ClientCommand;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "export",
    description = "Export the root file system of a container as a tar archive",
    footer = {
      "",
      "Example:  zlayer export -o web.tar web",
      "",
      "Volumes and other mounts are left out. 'zlayer image import' makes an image of it."
    })
public final class ExportCommand extends ClientCommand {
  @Option(
      names = {"-o", "--output"},
      paramLabel = "FILE",
      description = Archive.WHERE)
  private @Nullable String output;

  @Parameters(
      paramLabel = "CONTAINER",
      description = "Container as deployment/service[/replica], name or id")
  private String name = "";

  public ExportCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    Target target = Target.parse(name);
    Archive.requirePlace(session, output);
    Archive.keep(session, output, client.download(target.path() + "/export", Query.NONE));
    return 0;
  }
}
