package dev.zlayer.engine.init;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * What happened to one try of one step; reported when it begins and again when it ends.
 *
 * @param pass counted from 1; a pass goes through all steps
 * @param attempt counted from 1 within the pass
 * @param log the last output of a step that runs a command
 */
public record StepReport(
    String step,
    int pass,
    int attempt,
    Instant startedAt,
    Result result,
    Duration took,
    Optional<String> error,
    Optional<String> log) {
  /** How a try stands. */
  public enum Result {
    RUNNING,
    SUCCEEDED,
    FAILED,
    TIMED_OUT,
    /** It failed, and the file says that this does not matter. */
    IGNORED
  }

  public static StepReport begun(String step, int pass, int attempt, Instant now) {
    return new StepReport(
        step,
        pass,
        attempt,
        now,
        Result.RUNNING,
        Duration.ZERO,
        Optional.empty(),
        Optional.empty());
  }

  public StepReport ended(
      Result result, Instant now, Optional<String> error, Optional<String> log) {
    return new StepReport(
        step, pass, attempt, startedAt, result, Duration.between(startedAt, now), error, log);
  }

  /** Whether {@code other} was about the same try. */
  public boolean replaces(StepReport other) {
    return step.equals(other.step) && pass == other.pass && attempt == other.attempt;
  }
}
