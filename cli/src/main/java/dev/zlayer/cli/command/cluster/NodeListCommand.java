package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;

@Command(name = "ls", aliases = "list", description = "List the nodes of the cluster")
public final class NodeListCommand extends AnswerCommand {
  public NodeListCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.get("/nodes");
    show(answer, () -> table(answer).toString());
    return 0;
  }

  static Table table(Json nodes) {
    var table =
        new Table("NAME", "STATUS", "ADDRESS", "SERVER", "CPUS", "MEMORY", "VERSION", "LABELS");
    for (Json node : items(nodes, "nodes")) {
      table.row(
          text(node, "name") + (node.at("self").bool().orElse(false) ? " *" : ""),
          text(node, "status"),
          text(node, "address"),
          node.at("server").bool().orElse(false) ? "yes" : "no",
          number(node, "cpus"),
          node.at("memory_bytes").integer().map(HumanUnits::bytes).orElse("-"),
          text(node, "version"),
          node.at("labels").stringMap().entrySet().stream()
              .map(label -> label.getKey() + "=" + label.getValue())
              .sorted()
              .collect(Collectors.joining(",")));
    }
    return table;
  }
}
