package dev.zlayer.cli.client;

import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * Goes on where it was when the daemon is restarted: work that was cut off is begun again, and has
 * to know by itself how far it had come.
 */
public final class Reconnecting {
  private static final Duration BETWEEN_TRIES = Duration.ofMillis(200);

  /** As long as the unit of the agent lets a start take; systemd listens meanwhile. */
  private static final Duration STARTING = Duration.ofMinutes(10);

  private final DaemonClient client;
  private final Duration patience;
  private final Consumer<String> notices;

  /**
   * @param patience how long nobody may listen
   * @param notices told once per absence
   */
  public Reconnecting(DaemonClient client, Duration patience, Consumer<String> notices) {
    this.client = client;
    this.patience = patience;
    this.notices = notices;
  }

  /** Something that may be begun again. */
  @FunctionalInterface
  public interface Work<T> {
    T run() throws InterruptedException;
  }

  public <T> T run(Work<T> work) throws InterruptedException {
    while (true) {
      try {
        return work.run();
      } catch (ConnectionLost lost) {
        awaitDaemon(lost);
      }
    }
  }

  private void awaitDaemon(ConnectionLost lost) throws InterruptedException {
    Deadline deadline = Deadline.after(patience);
    Deadline starting = Deadline.after(STARTING);
    if (client.answers()) {
      Pauses.REAL.pause(BETWEEN_TRIES); // one that breaks off each time is not asked without end
      return;
    }
    notices.accept("the daemon does not answer; reconnecting");
    while (!client.answers()) {
      if (starting.passed() || (deadline.passed() && !client.listens())) {
        throw lost;
      }
      Pauses.REAL.pause(BETWEEN_TRIES);
    }
  }
}
