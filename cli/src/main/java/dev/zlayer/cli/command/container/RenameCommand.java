package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.ClientCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "rename", description = "Rename a container")
public final class RenameCommand extends ClientCommand {
  @Parameters(index = "0", paramLabel = "CONTAINER", description = "Container name or id")
  private String container = "";

  @Parameters(index = "1", paramLabel = "NAME", description = "New name")
  private String name = "";

  public RenameCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    client.post(Target.parse(container).path() + "/rename", Query.of("name", name));
    return 0;
  }
}
