package dev.zlayer.host.http;

import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.util.Optional;
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
  private final Optional<Duration> silence;
  private final Patience patience;
  private final @Nullable Thread thread;
  private volatile Deadline deadline;

  private ExpiryLoop(
      Deadline deadline, Optional<Duration> silence, Patience patience, Runnable end) {
    this.deadline = deadline;
    this.silence = silence;
    this.patience = patience;
    this.thread =
        deadline.never() ? null : Thread.ofVirtual().name("http-expiry").start(() -> run(end));
  }

  static ExpiryLoop watch(Deadline deadline, Runnable end) {
    return new ExpiryLoop(deadline, Optional.empty(), Patience.NONE, end);
  }

  /** Passes when nothing was {@link #heard} for that long, and the patience has ended. */
  static ExpiryLoop watch(Duration silence, Patience patience, Runnable end) {
    return new ExpiryLoop(Deadline.after(silence), Optional.of(silence), patience, end);
  }

  /** Something came, or was taken. */
  void heard() {
    silence.ifPresent(limit -> deadline = Deadline.after(limit));
  }

  private void run(Runnable end) {
    try {
      while (!deadline.passed() || waitsOn()) {
        Pauses.REAL.pause(deadline.left());
      }
    } catch (InterruptedException _) {
      return;
    }
    if (state.compareAndSet(State.WATCHING, State.FIRED)) {
      end.run();
    }
  }

  /** Something may come while it is being asked. */
  private boolean waitsOn() throws InterruptedException {
    boolean waits = patience.waits();
    if (waits) {
      heard();
    }
    return waits || !deadline.passed();
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
