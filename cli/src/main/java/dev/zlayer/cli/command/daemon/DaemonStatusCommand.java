package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;

@Command(
    name = "status",
    description = "Show whether a daemon is running, and its version",
    footer = {"", "Exits with 0 if a daemon answers, 1 otherwise."})
public final class DaemonStatusCommand extends AnswerCommand {
  public DaemonStatusCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Optional<Json> known = client.getIfRunning("/info");
    boolean running = known.isPresent();
    Json.Builder facts =
        Json.object().put("running", running).put("address", client.address().http().toString());
    for (String name : List.of("version", "pid", "data_dir", "containers", "images")) {
      known.ifPresent(info -> facts.put(name, info.at(name)));
    }
    Json status = facts.build();
    show(status, () -> text(status, running));
    return running ? 0 : Blame.SELF.exitCode();
  }

  private static String text(Json status, boolean running) {
    if (!running) {
      return "no daemon is running at %s; start one with 'zlayer daemon start'%n"
          .formatted(text(status, "address"));
    }
    var text = new StringBuilder();
    status
        .members()
        .forEach(
            (name, value) ->
                text.append(
                    "%-11s %s%n"
                        .formatted(
                            name,
                            value
                                .string()
                                .or(() -> value.integer().map(String::valueOf))
                                .or(() -> value.bool().map(yes -> yes ? "yes" : "no"))
                                .orElse("-"))));
    return text.toString();
  }
}
