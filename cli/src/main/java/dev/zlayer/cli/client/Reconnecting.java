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

  private final DaemonClient client;
  private final Duration patience;
  private final Consumer<String> notices;

  /**
   * @param patience how long the daemon may be away
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
    if (client.answers()) {
      return;
    }
    notices.accept("the daemon does not answer; reconnecting");
    while (!client.answers()) {
      if (deadline.passed()) {
        throw lost;
      }
      Pauses.REAL.pause(BETWEEN_TRIES);
    }
  }
}
