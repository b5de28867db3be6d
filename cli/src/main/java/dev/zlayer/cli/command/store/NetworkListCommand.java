package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.ContainerTable;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.util.ArrayList;
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
    List<Json> networks = items(answer, "networks");
    boolean nodes = ContainerTable.onNodes(networks);
    var headings = new ArrayList<>(List.of("NETWORK", "BRIDGE", "SUBNET", "GATEWAY", "CONTAINERS"));
    if (nodes) {
      headings.add(1, "NODE");
    }
    var table = new Table(headings.toArray(String[]::new));
    for (Json network : networks) {
      List<Json> containers = network.at("containers").items();
      var cells =
          new ArrayList<>(
              List.of(
                  text(network, "name"),
                  text(network, "bridge"),
                  text(network, "subnet")
                      + network.at("subnet_ipv6").string().map(range -> ", " + range).orElse(""),
                  text(network, "gateway"),
                  network
                      .at("containers")
                      .integer()
                      .map(String::valueOf)
                      .orElseGet(() -> String.valueOf(containers.size()))));
      if (nodes) {
        cells.add(1, text(network, "node"));
      }
      table.row(cells.toArray(String[]::new));
    }
    return table;
  }
}
