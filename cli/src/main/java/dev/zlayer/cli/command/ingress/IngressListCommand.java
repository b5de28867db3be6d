package dev.zlayer.cli.command.ingress;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "ls",
    aliases = "list",
    description = "List hosts and paths with their service, replicas, requests and certificates")
public final class IngressListCommand extends AnswerCommand {
  @Option(names = "--deployment", paramLabel = "NAME", description = "Show only this deployment")
  private @Nullable String deployment;

  public IngressListCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer =
        client.get(
            "/ingress/routes", Query.NONE.andIf("deployment", Optional.ofNullable(deployment)));
    show(answer, () -> table(answer).toString());
    return 0;
  }

  private static Table table(Json answer) {
    var table =
        new Table(
            "HOST",
            "PATH",
            "SERVICE",
            "PORT",
            "READY",
            "STATE",
            "REQ/S",
            "REQUESTS",
            "ERRORS",
            "CERTIFICATE");
    for (Json one : items(answer, "routes")) {
      table.row(
          text(one, "host"),
          text(one, "path"),
          text(one, "deployment") + "/" + text(one, "service"),
          number(one, "port"),
          number(one, "ready") + "/" + number(one, "replicas"),
          text(one, "state"),
          number(one, "requests_per_second"),
          number(one, "requests"),
          number(one, "errors"),
          certificate(one));
    }
    return table;
  }

  private static String certificate(Json one) {
    Optional<String> error = one.at("certificate_error").string();
    Optional<String> end = one.at("certificate_not_after").string();
    return error.map(reason -> "error: " + reason).or(() -> end.map("until "::concat)).orElse("-");
  }
}
