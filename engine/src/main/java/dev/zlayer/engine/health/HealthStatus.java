package dev.zlayer.engine.health;

import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * What is known about whether one replica works.
 *
 * @param streak checks in a row with the same result as the last one
 * @param succeeding whether the last check succeeded
 * @param failures failures in a row that count: those after the first time of grace
 * @param output what the last check said
 * @param since when it entered this state
 * @param next when it is checked again
 */
public record HealthStatus(
    HealthState state,
    int streak,
    boolean succeeding,
    int failures,
    String output,
    Instant since,
    Instant next) {
  /** Before the first check, which is due at once. */
  public static HealthStatus starting(Instant now) {
    return new HealthStatus(HealthState.STARTING, 0, false, 0, "", now, now);
  }

  /** The wall clock was set: the next check is as far away as before. */
  public HealthStatus moved(Duration by) {
    return new HealthStatus(
        state,
        streak,
        succeeding,
        failures,
        output,
        Saturating.plus(since, by),
        Saturating.plus(next, by));
  }

  /** Checked again by then at the latest, while no check has succeeded. */
  public HealthStatus startingBy(Optional<Instant> latest) {
    return state == HealthState.STARTING && latest.filter(next::isAfter).isPresent()
        ? new HealthStatus(state, streak, succeeding, failures, output, since, latest.orElseThrow())
        : this;
  }

  public boolean healthy() {
    return state == HealthState.HEALTHY;
  }

  /** Whether any check has been made. */
  public boolean checked() {
    return streak > 0;
  }
}
