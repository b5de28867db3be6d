package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.json.Json;
import picocli.CommandLine.Parameters;

/** A verb about one network and one container. */
abstract class NetworkMoveCommand extends ClientCommand {
  private final String action;

  @Parameters(index = "0", paramLabel = "NETWORK", description = "Network name")
  private String network = "";

  @Parameters(index = "1", paramLabel = "CONTAINER", description = "Container name or id")
  private String container = "";

  NetworkMoveCommand(Session session, String action) {
    super(session);
    this.action = action;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    client.post(
        "/networks/" + Query.segment(network) + action,
        Query.of("container", String.join(":", Target.parse(container).parts())),
        body());
    print(container);
    return 0;
  }

  /** How, where there is a choice. */
  Json body() {
    return Json.object().build();
  }
}
