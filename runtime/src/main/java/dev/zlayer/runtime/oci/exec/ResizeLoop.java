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
 * Tells an OCI runtime that the size of its terminal has changed. A runtime that has not yet
 * prepared for the signal ignores it, and nothing shows when it is prepared, so the signal is
 * repeated for a while; one that changes nothing has no effect. Owns a thread from the first change
 * on.
 */
final class ResizeLoop implements AutoCloseable {
  private static final Signal WINDOW_CHANGED = Signal.parse("WINCH");
  private static final Backoff PAUSES =
      new Backoff(Duration.ofMillis(10), Duration.ofSeconds(1), 2);

  /** Longer than a runtime takes to start on a busy machine. */
  private static final Duration REPEATED = Duration.ofMinutes(1);

  private final Optional<ProcessIdentity> runtime;
  private final Semaphore changes = new Semaphore(0);
  private volatile boolean closed;
  private boolean started; // guarded by this

  ResizeLoop(long runtime) throws IOException {
    this.runtime = ProcessIdentity.of(runtime);
  }

  synchronized void changed() {
    changes.release();
    if (!started && !closed && runtime.isPresent()) {
      started = true;
      ProcessIdentity process = runtime.get();
      Thread.ofVirtual().name("resize").start(() -> run(process));
    }
  }

  private void run(ProcessIdentity process) {
    try {
      changes.acquire();
      while (!closed) {
        repeat(process);
      }
    } catch (InterruptedException | IOException _) {
      // the runtime has ended
    }
  }

  /** Signals until there is another change; after enough time only waits for it. */
  private void repeat(ProcessIdentity process) throws IOException, InterruptedException {
    changes.drainPermits();
    Deadline deadline = Deadline.after(REPEATED);
    for (int tries = 0; !deadline.passed(); tries++) {
      process.signal(WINDOW_CHANGED.number());
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
