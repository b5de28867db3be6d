package dev.zlayer.task;

import java.time.Duration;
import java.time.Instant;

/**
 * Notices when the wall clock was set: it moved by more or less than the monotonic one. Used by one
 * thread.
 */
public final class ClockShift {
  /** What is less is the slow correction of a clock, and hurts no timer. */
  private static final Duration TOLERANCE = Duration.ofSeconds(1);

  private final TimeSource time;
  private Instant wall;
  private long nanos;

  public ClockShift(TimeSource time) {
    this.time = time;
    this.nanos = time.nanoTime();
    this.wall = time.instant();
  }

  /** By how much the wall clock was set since the last call that returned other than zero. */
  public Duration moved() {
    long nanosNow = time.nanoTime();
    Instant wallNow = time.instant();
    Duration moved = Duration.between(wall, wallNow).minus(Duration.ofNanos(nanosNow - nanos));
    if (moved.abs().compareTo(TOLERANCE) <= 0) {
      return Duration.ZERO;
    }
    wall = wallNow;
    nanos = nanosNow;
    return moved;
  }
}
