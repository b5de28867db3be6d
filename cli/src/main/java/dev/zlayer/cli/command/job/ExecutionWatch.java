package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.OutputFrames;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Reconnecting;
import dev.zlayer.cli.print.LogPrinter;
import dev.zlayer.container.LogPosition;
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

  /** The execution as it ended; one request, which shows the output of every attempt. */
  Json toItsEnd(String id, boolean silent) throws InterruptedException {
    String path = "/executions/" + Query.segment(id);
    if (silent) {
      return reconnecting.run(() -> client.get(path + "/wait"));
    }
    var printer = new LogPrinter(session.out(), session.err(), false, false).source();
    var progress = new Progress();
    Json ended =
        reconnecting.run(
            () -> {
              try (OutputFrames frames = client.follow(path + "/follow", progress.query())) {
                return frames.toEnd(
                    progress::reached,
                    reason -> session.err().print(reason + "\n"),
                    piece -> {
                      if (piece.isNew(progress.position)) {
                        printer.put(piece);
                      }
                    },
                    printer::flush);
              } finally {
                printer.flush();
              }
            });
    printer.end();
    return ended;
  }

  /** How far the output was shown, for another daemon. */
  private static final class Progress {
    private int attempt = 1;
    private LogPosition position = new LogPosition();

    Query query() {
      position.again();
      return Query.of("attempt", attempt).andIf("since", position.since().map(Object::toString));
    }

    void reached(int next) {
      if (next != attempt) {
        attempt = next;
        position = new LogPosition();
      }
    }
  }

  /** What it has printed; goes on where it was when the daemon comes back. */
  void output(String id, Query query, LogPrinter.Source printer) throws InterruptedException {
    var position = new LogPosition();
    boolean complete =
        reconnecting.run(
            () -> {
              position.again();
              try (OutputFrames frames =
                  client.output("/executions/" + Query.segment(id) + "/logs", query)) {
                frames.passNew(position, printer::put, printer::flush);
                return true;
              } finally {
                printer.flush();
              }
            });
    assert complete;
    printer.end();
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
