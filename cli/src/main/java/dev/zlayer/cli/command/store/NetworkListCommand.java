package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.util.List;
import picocli.CommandLine.Command;

@Command(name = "ls", aliases = "list", description = "List networks")
public final class NetworkListCommand extends AnswerCommand {
  public NetworkListCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.get("/networks");
    show(answer, () -> table(answer).toString());
    return 0;
  }

  private static Table table(Json answer) {
    var table = new Table("NETWORK", "BRIDGE", "SUBNET", "GATEWAY", "CONTAINERS");
    for (Json network : items(answer, "networks")) {
      List<Json> containers = network.at("containers").items();
      table.row(
          text(network, "name"),
          text(network, "bridge"),
          text(network, "subnet")
              + network.at("subnet_ipv6").string().map(range -> ", " + range).orElse(""),
          text(network, "gateway"),
          network
              .at("containers")
              .integer()
              .map(String::valueOf)
              .orElseGet(() -> String.valueOf(containers.size())));
    }
    return table;
  }
}
