package dev.zlayer.engine.health;

import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
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
 * @param history what the last checks found, oldest first, the same results in a row as one
 */
public record HealthStatus(
    HealthState state,
    int streak,
    boolean succeeding,
    int failures,
    String output,
    Instant since,
    Instant next,
    List<Run> history) {
  private static final int KEPT_RUNS = 10;
  private static final int KEPT_TEXT = 200;

  public HealthStatus {
    history = List.copyOf(history);
  }

  /**
   * Checks in a row that found the same.
   *
   * @param output what they said, shortened
   */
  public record Run(boolean success, String output, int checks, Instant first, Instant last) {}

  /** Before the first check, which is due at once. */
  public static HealthStatus starting(Instant now) {
    return new HealthStatus(HealthState.STARTING, 0, false, 0, "", now, now, List.of());
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
        Saturating.plus(next, by),
        history);
  }

  /** Checked again by then at the latest, while no check has succeeded. */
  public HealthStatus startingBy(Optional<Instant> latest) {
    return state == HealthState.STARTING && latest.filter(next::isAfter).isPresent()
        ? new HealthStatus(
            state, streak, succeeding, failures, output, since, latest.orElseThrow(), history)
        : this;
  }

  /** The history with one more check. */
  List<Run> historyWith(ProbeResult result, Instant now) {
    String text =
        result.output().length() <= KEPT_TEXT
            ? result.output()
            : result.output().substring(0, KEPT_TEXT) + "...";
    var runs = new ArrayList<>(history);
    if (!runs.isEmpty()
        && runs.getLast().success() == result.success()
        && runs.getLast().output().equals(text)) {
      Run run = runs.removeLast();
      runs.add(new Run(run.success(), text, run.checks() + 1, run.first(), now));
    } else {
      runs.add(new Run(result.success(), text, 1, now, now));
    }
    return runs.subList(Math.max(0, runs.size() - KEPT_RUNS), runs.size());
  }

  public boolean healthy() {
    return state == HealthState.HEALTHY;
  }

  /** Whether any check has been made. */
  public boolean checked() {
    return streak > 0;
  }
}
