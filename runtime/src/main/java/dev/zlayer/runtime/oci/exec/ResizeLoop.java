package dev.zlayer.runtime.oci.exec;

import dev.zlayer.container.Signal;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Reports the size of a terminal to a process that may lose the report: an OCI runtime ignores the
 * signal until it has prepared for it, and a monitor drops a size that comes soon after another.
 * Nothing shows that it has taken effect, so it is repeated for a while; a report that changes
 * nothing has no effect. Owns a thread from the first change on.
 */
final class ResizeLoop implements AutoCloseable {
  private static final Signal WINDOW_CHANGED = Signal.parse("WINCH");
  private static final Backoff PAUSES =
      new Backoff(Duration.ofMillis(10), Duration.ofSeconds(1), 2);

  /** Longer than a runtime takes to start on a busy machine. */
  private static final Duration START_LIMIT = Duration.ofMinutes(1);

  private final Report report;
  private final Duration repeated;
  private final Semaphore changes = new Semaphore(0);
  private volatile boolean closed;
  private boolean started; // guarded by this

  /** Tells what the size is now; fails when there is nobody to tell any more. */
  @FunctionalInterface
  interface Report {
    void send() throws IOException;
  }

  ResizeLoop(Report report, Duration repeated) {
    this.report = report;
    this.repeated = repeated;
  }

  /** Signals an OCI runtime that it has to copy the size of its terminal. */
  static ResizeLoop signalling(long runtime) throws IOException {
    Optional<ProcessIdentity> process = ProcessIdentity.of(runtime);
    return new ResizeLoop(
        () ->
            process
                .orElseThrow(() -> new IOException("the runtime has ended"))
                .signal(WINDOW_CHANGED.number()),
        START_LIMIT);
  }

  synchronized void changed() {
    changes.release();
    if (!started && !closed) {
      started = true;
      Thread.ofVirtual().name("resize").start(this::run);
    }
  }

  private void run() {
    try {
      changes.acquire();
      while (!closed) {
        repeat();
      }
    } catch (InterruptedException | IOException _) {
      // whoever was told has ended
    }
  }

  /** Reports until there is another change; after enough time only waits for it. */
  private void repeat() throws IOException, InterruptedException {
    changes.drainPermits();
    Deadline deadline = Deadline.after(repeated);
    for (int tries = 0; !closed && !deadline.passed(); tries++) {
      report.send();
      if (changes.tryAcquire(PAUSES.delay(tries).toNanos(), TimeUnit.NANOSECONDS)) {
        return;
      }
    }
    changes.acquire();
  }

  @Override
  public void close() {
    closed = true;
    changes.release();
  }
}
