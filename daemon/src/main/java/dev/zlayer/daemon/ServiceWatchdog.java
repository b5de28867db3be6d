package dev.zlayer.daemon;

import dev.zlayer.task.Owner;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.time.Duration;
import java.util.Map;

/**
 * Reports to the service manager that the agent is alive, as long as every owner answers; if it set
 * a time limit for that ({@code WatchdogSec=}), it restarts an agent that hangs.
 */
final class ServiceWatchdog implements Owner.State {
  private static final String LIMIT = "WATCHDOG_USEC";

  private final Map<String, String> env;
  private final Supervisor supervisor;
  private final Duration pause;

  /** Ends the reports. */
  interface Handle extends AutoCloseable {
    @Override
    void close();
  }

  private ServiceWatchdog(Map<String, String> env, Supervisor supervisor, Duration pause) {
    this.env = env;
    this.supervisor = supervisor;
    this.pause = pause;
  }

  /** Does nothing when nobody set a limit. */
  static Handle start(Map<String, String> env, Supervisor supervisor) throws InterruptedException {
    String micros = env.getOrDefault(LIMIT, "");
    if (!micros.matches("[1-9][0-9]{0,15}")) {
      return () -> {};
    }
    Duration pause = Duration.ofNanos(Long.parseLong(micros) * 1000 / 3);
    var owner =
        Owner.of(
                "watchdog",
                TimeSource.monotonic(),
                supervisor,
                (Owner<ServiceWatchdog> _, int _) -> new ServiceWatchdog(env, supervisor, pause))
            .start();
    return owner::close;
  }

  @Override
  public Duration round() {
    if (supervisor.owners().stream().allMatch(Supervisor.Status::working)) {
      Notify.alive(env);
    }
    return pause;
  }
}
