package dev.zlayer.cli.command.ingress;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "show", description = "Show the routes of a service, its replicas and figures")
public final class IngressShowCommand extends AnswerCommand {
  @Parameters(paramLabel = "SERVICE", description = "deployment/service")
  private String name = "";

  public IngressShowCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.get(IngressModeCommand.path(name));
    show(answer, () -> text(answer));
    return 0;
  }

  private static String text(Json answer) {
    var text = new StringBuilder();
    text.append(
        "%s/%s: %s\n"
            .formatted(text(answer, "deployment"), text(answer, "service"), text(answer, "state")));
    Json latency = answer.at("recent");
    text.append(
        "last 5 minutes: %s requests, p50 %s ms, p95 %s ms, p99 %s ms\n"
            .formatted(
                number(latency, "requests"),
                number(latency, "p50_millis"),
                number(latency, "p95_millis"),
                number(latency, "p99_millis")));
    for (Json endpoint : answer.at("endpoints").items()) {
      String hosts =
          String.join(
              ", ",
              endpoint.at("hosts").items().stream().flatMap(h -> h.string().stream()).toList());
      text.append(
          "\nendpoint %s: %s, path %s, port %s\n"
              .formatted(
                  text(endpoint, "name"), hosts, text(endpoint, "path"), number(endpoint, "port")));
      Json all = endpoint.at("traffic");
      var table =
          new Table("REPLICA", "ADDRESS", "READY", "REQ/S", "REQUESTS", "5XX", "FAILED", "AVG MS");
      for (Json replica : endpoint.at("replicas").items()) {
        table.row(
            cells(
                text(replica, "container"),
                text(replica, "address"),
                ready(replica),
                replica.at("traffic")));
      }
      text.append(table.row(cells("(all)", "-", "-", all)));
    }
    return text.toString();
  }

  private static String ready(Json replica) {
    if (replica.at("ejected").bool().orElse(false)) {
      return "ejected";
    }
    return replica.at("ready").bool().orElse(false) ? "yes" : "no";
  }

  private static String[] cells(String name, String address, String ready, Json traffic) {
    return new String[] {
      name,
      address,
      ready,
      number(traffic, "requests_per_second"),
      number(traffic, "requests"),
      number(traffic.at("statuses"), "5xx"),
      number(traffic, "failures"),
      number(traffic, "average_millis")
    };
  }
}
