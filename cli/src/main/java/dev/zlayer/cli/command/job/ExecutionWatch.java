package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Output;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Reconnecting;
import dev.zlayer.cli.client.Resume;
import dev.zlayer.cli.print.LogPrinter;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import java.util.Optional;

/** Shows the output of an execution as it comes and tells how it ended, across restarts. */
final class ExecutionWatch {
  private final Session session;
  private final DaemonClient client;
  private final Reconnecting reconnecting;

  ExecutionWatch(Session session, DaemonClient client, Reconnecting reconnecting) {
    this.session = session;
    this.client = client;
    this.reconnecting = reconnecting;
  }

  /** The execution as it ended. */
  Json toItsEnd(String id, boolean silent) throws InterruptedException {
    String path = "/executions/" + Query.segment(id);
    if (!silent) {
      output(id, Query.of("follow", true), false);
    }
    return reconnecting.run(() -> client.get(path + "/wait"));
  }

  /** What it has printed; goes on where it was when the daemon comes back. */
  void output(String id, Query query, boolean times) throws InterruptedException {
    var printer = new LogPrinter(session.out(), session.err(), false, times);
    var resume = new Resume();
    boolean complete =
        reconnecting.run(
            () -> {
              resume.again();
              try (JsonLines lines =
                  client.stream("/executions/" + Query.segment(id) + "/logs", query)) {
                for (Optional<Json> line = lines.next(); line.isPresent(); line = lines.next()) {
                  Output output = Output.of(line.get());
                  if (resume.isNew(output)) {
                    printer.print("", output);
                  }
                }
                return true;
              }
            });
    assert complete;
  }

  /** The job's own code; 3 when it failed without one, 130 when somebody cancelled it. */
  static int exitCode(Json execution) {
    Optional<Long> code = code(execution);
    if (code.isPresent()) {
      return code.get().intValue();
    }
    return switch (word(execution)) {
      case "completed" -> 0;
      case "cancelled" -> 130;
      default -> Blame.WORKLOAD.exitCode();
    };
  }

  static String text(Json execution) {
    String code = code(execution).map(value -> " with exit code " + value).orElse("");
    String reason = execution.at("reason").string().map(text -> ": " + text).orElse("");
    return word(execution) + code + reason;
  }

  private static String word(Json execution) {
    return execution.at("status").string().orElse("unknown");
  }

  private static Optional<Long> code(Json execution) {
    return execution.at("code").integer();
  }
}
