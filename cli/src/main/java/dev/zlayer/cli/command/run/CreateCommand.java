package dev.zlayer.cli.command.run;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import java.io.IOException;
import picocli.CommandLine.Command;

@Command(
    name = "create",
    description = "Create a container without starting it, with the flags of run",
    footer = {
      "",
      "Example:  zlayer create --name db -v data:/var/lib/db db:1",
      "",
      "Prints the container's name; 'zlayer start NAME' starts it. With --rm, it is removed when",
      "it exits after that. Starts a daemon in the background when none is running."
    })
public final class CreateCommand extends NewContainerCommand {
  public CreateCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    print(make(client, flags(false).build()).name());
    return 0;
  }
}
