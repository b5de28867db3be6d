package dev.zlayer.task;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;

/** Sums of times that end at the largest value instead of overflowing. Pure. */
public final class Saturating {
  private Saturating() {}

  public static Instant plus(Instant time, Duration duration) {
    try {
      return time.plus(duration);
    } catch (DateTimeException | ArithmeticException _) {
      return duration.isNegative() ? Instant.MIN : Instant.MAX;
    }
  }

  public static Duration between(Instant from, Instant to) {
    try {
      return Duration.between(from, to);
    } catch (ArithmeticException _) {
      return Duration.ofSeconds(to.isBefore(from) ? Long.MIN_VALUE : Long.MAX_VALUE);
    }
  }

  public static long nanos(Duration duration) {
    try {
      return duration.toNanos();
    } catch (ArithmeticException _) {
      return duration.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
  }
}
