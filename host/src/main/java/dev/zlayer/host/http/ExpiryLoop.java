package dev.zlayer.host.http;

import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Closes a connection when a deadline passes, which ends whatever waits on it. Owns a thread only
 * if there is a deadline; closing this ends the watch, and tells whether it was in time.
 */
final class ExpiryLoop {
  private enum State {
    WATCHING,
    FIRED,
    ENDED
  }

  private final AtomicReference<State> state = new AtomicReference<>(State.WATCHING);
  private final Deadline deadline;
  private final @Nullable Thread thread;

  private ExpiryLoop(Deadline deadline, Runnable end) {
    this.deadline = deadline;
    this.thread =
        deadline.never()
            ? null
            : Thread.ofVirtual().name("http-expiry").start(() -> run(deadline, end));
  }

  static ExpiryLoop watch(Deadline deadline, Runnable end) {
    return new ExpiryLoop(deadline, end);
  }

  private void run(Deadline deadline, Runnable end) {
    try {
      Pauses.REAL.pause(deadline.left());
    } catch (InterruptedException _) {
      return;
    }
    if (state.compareAndSet(State.WATCHING, State.FIRED)) {
      end.run();
    }
  }

  Deadline deadline() {
    return deadline;
  }

  boolean fired() {
    return state.get() == State.FIRED;
  }

  /** Ends the watch; false when it has fired already. */
  boolean end() {
    boolean inTime = state.compareAndSet(State.WATCHING, State.ENDED);
    if (inTime && thread != null) {
      thread.interrupt();
    }
    return inTime || state.get() == State.ENDED;
  }
}
