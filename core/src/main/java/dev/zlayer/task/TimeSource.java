package dev.zlayer.task;

import java.time.InstantSource;

/**
 * The two clocks of one place: the wall clock, which people and other machines set, for what is
 * shown and scheduled; and the monotonic clock for how long something takes.
 */
public interface TimeSource extends InstantSource {
  /** Nanoseconds since an arbitrary moment; never goes back and never jumps. */
  long nanoTime();

  /** For owners without timers of their own: a clock that nobody sets. */
  static TimeSource monotonic() {
    return of(() -> java.time.Instant.EPOCH.plusNanos(System.nanoTime()));
  }

  /** A wall clock beside the monotonic clock of this process. */
  static TimeSource of(InstantSource wall) {
    return new TimeSource() {
      @Override
      public java.time.Instant instant() {
        return wall.instant();
      }

      @Override
      public long nanoTime() {
        return System.nanoTime();
      }
    };
  }
}
