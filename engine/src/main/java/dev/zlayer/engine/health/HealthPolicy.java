package dev.zlayer.engine.health;

import dev.zlayer.spec.service.HealthCheck;
import dev.zlayer.spec.service.HealthSpec;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** What a row of results means, and when to check again. Pure. */
public final class HealthPolicy {
  private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
  private static final Duration LONGEST_WINDOW = Duration.ofSeconds(1);

  /** Nobody said how long a start may take, so a slow one gets more time than when somebody did. */
  private static final HealthSpec UNSAID =
      new HealthSpec(
          new HealthCheck.Tcp(0),
          Duration.ofSeconds(30),
          Duration.ofSeconds(10),
          Duration.ofSeconds(5),
          3,
          HealthSpec.OnUnhealthy.RESTART);

  private HealthPolicy() {}

  public static HealthSpec of(Optional<HealthSpec> written) {
    return written.orElse(UNSAID);
  }

  /** The status after one more check of a process that began at {@code startedAt}. */
  public static HealthStatus after(
      HealthStatus before, ProbeResult result, HealthSpec spec, Instant startedAt, Instant now) {
    int streak = before.succeeding() == result.success() ? before.streak() + 1 : 1;
    boolean counts = !result.success() && (before.healthy() || !graceful(spec, startedAt, now));
    int failures = result.success() ? 0 : before.failures() + (counts ? 1 : 0);
    HealthState state = state(before.state(), result.success(), failures, spec);
    Instant since = state == before.state() ? before.since() : now;
    Duration pause =
        state == HealthState.STARTING ? early(streak, spec.interval()) : spec.interval();
    return new HealthStatus(
        state,
        streak,
        result.success(),
        failures,
        result.output(),
        since,
        Saturating.plus(now, pause),
        before.historyWith(result, now));
  }

  private static boolean graceful(HealthSpec spec, Instant startedAt, Instant now) {
    return now.isBefore(Saturating.plus(startedAt, spec.startGrace()));
  }

  private static HealthState state(
      HealthState before, boolean success, int failures, HealthSpec spec) {
    if (success) {
      return HealthState.HEALTHY;
    }
    return failures >= spec.retries() ? HealthState.UNHEALTHY : before;
  }

  /**
   * When to look at a replica again. Checks of replicas that work wait for each other a little, so
   * that those of a thousand replicas are made in a few rounds.
   *
   * @param phase shifts the times at which they meet, so that services do not meet each other
   */
  public static Instant next(HealthStatus status, HealthSpec spec, int phase) {
    if (!status.healthy() || !status.succeeding()) {
      return status.next();
    }
    long window = Math.clamp(spec.interval().toMillis() / 10, 1, LONGEST_WINDOW.toMillis());
    long late = Math.floorMod(phase - status.next().toEpochMilli(), window);
    return Saturating.plus(status.next(), Duration.ofMillis(late));
  }

  /** Short at first, so that what starts fast is seen fast. */
  private static Duration early(int streak, Duration interval) {
    Duration first = FIRST_PAUSE.compareTo(interval) < 0 ? FIRST_PAUSE : interval;
    return new Backoff(first, interval, 2).delay(streak - 1);
  }
}
