package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.LogPosition;
import dev.zlayer.cli.client.OutputFrames;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Reconnecting;
import dev.zlayer.cli.print.LogPrinter;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Shows the output of an execution as it comes and tells how it ended, across restarts. */
final class ExecutionWatch {
  private static final Duration BETWEEN_LOOKS = Duration.ofMillis(50);

  private final Session session;
  private final DaemonClient client;
  private final Reconnecting reconnecting;

  ExecutionWatch(Session session, DaemonClient client, Reconnecting reconnecting) {
    this.session = session;
    this.client = client;
    this.reconnecting = reconnecting;
  }

  /**
   * The execution as it ended. Shows the output of every attempt; one whose container is not made
   * yet has none, so each is asked for until it was seen whole.
   */
  Json toItsEnd(String id, boolean silent) throws InterruptedException {
    String path = "/executions/" + Query.segment(id);
    if (!silent) {
      int shown = 0;
      var resume = new LogPosition();
      var printer = new LogPrinter(session.out(), session.err(), false, false).source();
      Json execution = reconnecting.run(() -> client.get(path));
      while (shown < attempts(execution).size() || !finished(execution)) {
        if (shown < attempts(execution).size()) {
          Json attempt = attempts(execution).get(shown);
          output(id, Query.of("follow", true).and("attempt", shown + 1), resume, printer);
          if (attempt.at("finished").string().isPresent()) {
            shown++;
            resume = new LogPosition();
            continue;
          }
        }
        Pauses.REAL.pause(BETWEEN_LOOKS);
        execution = reconnecting.run(() -> client.get(path));
      }
    }
    return reconnecting.run(() -> client.get(path + "/wait"));
  }

  private static List<Json> attempts(Json execution) {
    return execution.at("attempts").items();
  }

  private static boolean finished(Json execution) {
    return switch (word(execution)) {
      case "completed", "failed", "cancelled", "lost" -> true;
      default -> false;
    };
  }

  /** What it has printed; goes on where it was when the daemon comes back. */
  void output(String id, Query query, LogPrinter.Source printer) throws InterruptedException {
    output(id, query, new LogPosition(), printer);
    printer.end();
  }

  private void output(String id, Query query, LogPosition resume, LogPrinter.Source printer)
      throws InterruptedException {
    boolean complete =
        reconnecting.run(
            () -> {
              resume.again();
              try (OutputFrames frames =
                  client.output("/executions/" + Query.segment(id) + "/logs", query)) {
                resume.passNew(frames, printer::put, printer::flush);
                return true;
              } finally {
                printer.flush();
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
    String code = code(execution).map(value -> "exit code " + value).orElse("");
    String reason =
        execution
            .at("reason")
            .string()
            .filter(text -> !text.equals(code)) // said already
            .map(text -> ": " + text)
            .orElse("");
    return word(execution) + (code.isEmpty() ? "" : " with " + code) + reason;
  }

  private static String word(Json execution) {
    return execution.at("status").string().orElse("unknown");
  }

  private static Optional<Long> code(Json execution) {
    return execution.at("code").integer();
  }
}
