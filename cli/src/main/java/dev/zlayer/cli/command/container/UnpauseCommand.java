package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;

@Command(name = "unpause", description = "Resume the processes of paused containers")
public final class UnpauseCommand extends EachCommand {

  public UnpauseCommand(Session session) {
    super(session);
  }

  @Override
  Json one(DaemonClient client, Target target) throws InterruptedException {
    return client.post(target.path() + "/unpause", Query.NONE);
  }
}
