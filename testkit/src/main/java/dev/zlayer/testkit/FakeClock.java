package dev.zlayer.testkit;

import dev.zlayer.task.Deadline;
import dev.zlayer.task.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Time that passes only when a test says so. Wall clock and monotonic clock move together, unless a
 * test sets the wall clock. What waits for a time registers with {@link #onAdvance} and looks
 * again; nothing polls.
 */
public final class FakeClock implements TimeSource {
  /** Where every clock begins unless told otherwise. */
  public static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

  private final Instant start;
  private final AtomicLong setNanos = new AtomicLong();
  private final AtomicLong passedNanos = new AtomicLong();
  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

  public FakeClock() {
    this(START);
  }

  public FakeClock(Instant start) {
    this.start = start;
  }

  @Override
  public Instant instant() {
    return start.plusNanos(passedNanos.get()).plusNanos(setNanos.get());
  }

  @Override
  public long nanoTime() {
    return passedNanos.get();
  }

  /** Sets the wall clock, as people do, forwards or back; the monotonic clock does not notice. */
  public void set(Duration by) {
    setNanos.addAndGet(by.toNanos());
    listeners.forEach(Runnable::run);
  }

  /** Moves on, then tells the listeners on the caller's thread. */
  public void advance(Duration step) {
    if (step.isNegative()) {
      throw new IllegalArgumentException("time does not go back: " + step);
    }
    passedNanos.addAndGet(step.toNanos());
    listeners.forEach(Runnable::run);
  }

  /** The monotonic side, for {@link Deadline#after(Duration, LongSupplier)}. */
  public LongSupplier nanoClock() {
    return passedNanos::get;
  }

  public Deadline deadline(Duration limit) {
    return Deadline.after(limit, nanoClock());
  }

  /** Called after each step, on the thread that made it. */
  public void onAdvance(Runnable listener) {
    listeners.add(listener);
  }
}
