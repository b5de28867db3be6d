package dev.zlayer.daemon;

import dev.zlayer.task.Owner;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Asks the service manager for more time as long as the agent starts, which takes longer the more
 * there is to read and to adopt. A start that hangs is given up after an hour.
 */
final class StartTimeout implements Owner.State {
  /** For what is left of the start when the last request was sent. */
  static final Duration EXTENSION = Duration.ofMinutes(2);

  static final Duration PAUSE = Duration.ofSeconds(30);
  static final Duration LONGEST_START = Duration.ofHours(1);

  private final Consumer<Duration> extend;
  private Duration waited = Duration.ZERO;

  StartTimeout(Consumer<Duration> extend) {
    this.extend = extend;
    extend.accept(EXTENSION);
  }

  /** Ends with the handle. */
  static ServiceWatchdog.Handle begin(Map<String, String> env) throws InterruptedException {
    var owner =
        Owner.of(
                "the time limit of the start",
                TimeSource.monotonic(),
                new Supervisor(),
                (Owner<StartTimeout> _, int _) ->
                    new StartTimeout(more -> Notify.starting(env, more)))
            .start();
    return owner::close;
  }

  @Override
  public Duration round() {
    if (!waited.isZero()) {
      extend.accept(EXTENSION);
    }
    waited = waited.plus(PAUSE);
    return PAUSE;
  }

  @Override
  public boolean done() {
    return waited.compareTo(LONGEST_START) > 0;
  }
}
