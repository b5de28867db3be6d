package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;

@Command(name = "start", description = "Start stopped deployments, services or containers")
public final class StartCommand extends EachCommand {

  public StartCommand(Session session) {
    super(session);
  }

  @Override
  Json one(DaemonClient client, Target target) throws InterruptedException {
    if (target.service()) {
      return client.post(target.servicePath() + "/start", Query.NONE);
    }
    if (deployment(client, target)) {
      return client.post("/deployments/" + Query.segment(target.text()) + "/start", Query.NONE);
    }
    return client.post(target.path() + "/start", Query.NONE);
  }
}
