package dev.zlayer.task;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.random.RandomGenerator;

/** How long to wait before attempt {@code n + 1}: grows by a factor up to a cap. Pure. */
public record Backoff(Duration initial, Duration max, double factor) {
  public static final Backoff DEFAULT =
      new Backoff(Duration.ofSeconds(1), Duration.ofSeconds(60), 2.0);

  public Backoff {
    if (initial.isNegative() || max.compareTo(initial) < 0 || !(factor >= 1)) {
      throw new AgentException.InvalidSpec(
          "back-off needs 0 <= initial <= max and factor >= 1, not initial %s, max %s, factor %s"
              .formatted(initial, max, factor));
    }
  }

  /** The delay after attempt {@code attempt} (counted from 0) has failed. */
  public Duration delay(int attempt) {
    double nanos = initial.toNanos() * Math.pow(factor, Math.max(0, attempt));
    return nanos >= max.toNanos() ? max : Duration.ofNanos((long) nanos);
  }

  /** The delay, shortened by up to {@code share} of it so that many waiters do not act at once. */
  public Duration delay(int attempt, double share, RandomGenerator random) {
    Duration full = delay(attempt);
    return full.minus(Duration.ofNanos((long) (full.toNanos() * share * random.nextDouble())));
  }
}
