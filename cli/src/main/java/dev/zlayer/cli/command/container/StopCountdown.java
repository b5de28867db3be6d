package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.print.LiveScreen;
import dev.zlayer.cli.terminal.Terminal;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Shows a person at a terminal how long a container that does not stop has left. */
final class StopCountdown {
  /** Most stop faster, and nobody wonders before. */
  private static final Duration QUIET = Duration.ofSeconds(2);

  private static final Duration STEP = Duration.ofSeconds(1);

  private final Session session;

  StopCountdown(Session session) {
    this.session = session;
  }

  /** Something that waits for the daemon. */
  @FunctionalInterface
  interface Waiting {
    Json run() throws InterruptedException;
  }

  /**
   * Waits, and counts down meanwhile.
   *
   * @param grace as it was asked for; else the container's own
   */
  Json during(DaemonClient client, Target target, Optional<String> grace, Waiting waiting)
      throws InterruptedException {
    if (!session.errorTerminal()) {
      return waiting.run();
    }
    Duration left =
        grace.isPresent()
            ? Durations.parse(grace.get())
            : client
                .get(target.path())
                .at("stop")
                .at("grace")
                .string()
                .map(Duration::parse)
                .orElse(Duration.ZERO);
    try (var screen = new LiveScreen(session.err());
        var scope = new TaskScope("countdown")) {
      TaskScope.Task<Boolean> _ = scope.fork(() -> count(screen, target, left));
      return waiting.run();
    }
  }

  private boolean count(LiveScreen screen, Target target, Duration whole) {
    try {
      Pauses.REAL.pause(QUIET);
      for (Duration left = whole.minus(QUIET); left.isPositive(); left = left.minus(STEP)) {
        int columns = session.screen().size().map(Terminal.Size::columns).orElse(80);
        screen.draw(
            List.of("%s is stopping; killed in %d s".formatted(target.text(), left.toSeconds())),
            2,
            columns);
        Pauses.REAL.pause(STEP);
      }
      screen.clear();
      return true;
    } catch (InterruptedException _) {
      screen.clear(); // it has stopped
      return false;
    }
  }
}
