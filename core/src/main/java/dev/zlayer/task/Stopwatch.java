package dev.zlayer.task;

import java.time.Duration;

/** Time that passed since something began, on the monotonic clock. */
public final class Stopwatch {
  private final long start = System.nanoTime();

  private Stopwatch() {}

  public static Stopwatch started() {
    return new Stopwatch();
  }

  public Duration passed() {
    return Duration.ofNanos(System.nanoTime() - start);
  }
}
