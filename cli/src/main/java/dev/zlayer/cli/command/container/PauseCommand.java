package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;

@Command(name = "pause", description = "Pause the processes of containers")
public final class PauseCommand extends EachCommand {

  public PauseCommand(Session session) {
    super(session);
  }

  @Override
  Json one(DaemonClient client, Target target) throws InterruptedException {
    return client.post(target.path() + "/pause", Query.NONE);
  }
}
