package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;

@Command(name = "status", description = "Show the cluster, and who stores its state")
public final class ClusterStatusCommand extends AnswerCommand {
  public ClusterStatusCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.get("/cluster");
    show(answer, () -> text(answer));
    return 0;
  }

  private static String text(Json answer) {
    var text = new StringBuilder();
    text.append("cluster  ").append(text(answer, "cluster")).append('\n');
    text.append("node     ").append(text(answer, "name")).append('\n');
    answer
        .at("leader")
        .string()
        .ifPresent(leader -> text.append("leader   ").append(leader).append('\n'));
    if (answer.at("encrypted").bool().orElse(false)) {
      text.append("network  encrypted between nodes (WireGuard)\n");
    }
    boolean own =
        answer.at("servers").items().stream()
            .anyMatch(server -> !text(server, "name").equals("external"));
    if (own && !answer.at("users").bool().orElse(false)) {
      text.append("etcd     without users: each node has all rights in it\n");
    }
    answer
        .at("problem")
        .string()
        .ifPresent(problem -> text.append("problem  ").append(problem).append('\n'));
    answer
        .at("unreachable")
        .string()
        .ifPresent(problem -> text.append("others   ").append(problem).append('\n'));
    answer
        .at("certificate")
        .at("not_after")
        .string()
        .ifPresent(
            end ->
                text.append("expires  ")
                    .append(end)
                    .append(" (certificate of this node; renewed on ")
                    .append(answer.at("certificate").at("renewal").string().orElse("?"), 0, 10)
                    .append(")\n"));
    if (!answer.at("servers").items().isEmpty()) {
      text.append("\nstate is stored by\n").append(servers(answer));
      text.append("\nnodes\n").append(NodeListCommand.table(answer.at("nodes")));
    }
    return text.toString();
  }

  private static Table servers(Json answer) {
    var table = new Table("NODE", "ADDRESS", "ROLE", "ETCD", "SIZE", "PROBLEM");
    for (Json server : answer.at("servers").items()) {
      table.row(
          text(server, "name"),
          text(server, "address"),
          text(server, "role"),
          text(server, "version"),
          HumanUnits.bytes(server.at("bytes").integer().orElse(0L)),
          text(server, "problem"));
    }
    return table;
  }
}
