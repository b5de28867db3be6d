package dev.zlayer.engine.service;

import dev.zlayer.engine.health.Probe;
import dev.zlayer.spec.service.LifecycleSpec;
import dev.zlayer.spec.service.RestartPolicySpec;
import dev.zlayer.task.Backoff;
import java.time.Duration;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** What the end of a replica's process means. Pure but for the dice in the pauses. */
final class RestartPolicy {
  /** A process that went on for this long has proved itself: earlier failures are forgotten. */
  static final Duration RESET = Duration.ofSeconds(60);

  /** From here on a row of failures is called a crash loop. */
  static final int CRASH_LOOP = 3;

  /** Most programs that cannot work end within this time. */
  private static final Duration PROBATION = Duration.ofSeconds(1);

  private static final Duration FIRST_PAUSE = Duration.ofMillis(200);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(60);
  private static final double JITTER = 0.3;

  /** The meaning. */
  sealed interface Verdict {
    /** Another container after this pause. */
    record Again(Duration pause) implements Verdict {}

    /** None any more; the ended one stays to be looked at. */
    record GivenUp(String reason) implements Verdict {}

    /** None any more; kept for inspection because the file says so. */
    record Isolated() implements Verdict {}

    /** The whole service stops. */
    record Shutdown() implements Verdict {}
  }

  private RestartPolicy() {}

  /** How long a first container must run; a check or an earlier one says enough. */
  static Duration probation(Probe probe, boolean proven, Duration settling) {
    if (proven || !(probe instanceof Probe.Alive)) {
      return Duration.ZERO;
    }
    return settling.compareTo(PROBATION) < 0 ? settling : PROBATION;
  }

  /**
   * Judges one end.
   *
   * @param success it ended by itself with code 0
   * @param failures ends in a row before this one
   */
  static Verdict judge(LifecycleSpec spec, boolean success, int failures, RandomGenerator random) {
    Optional<RestartPolicySpec> policy = spec.restartPolicy();
    if (policy.isPresent()) {
      return written(policy.get(), success, failures, random);
    }
    if (success) {
      return again(FIRST_PAUSE, failures, random);
    }
    return switch (spec.errors().onPanic().action()) {
      case RESTART -> again(FIRST_PAUSE, failures, random);
      case SHUTDOWN -> new Verdict.Shutdown();
      case ISOLATE -> new Verdict.Isolated();
    };
  }

  private static Verdict written(
      RestartPolicySpec policy, boolean success, int failures, RandomGenerator random) {
    if (policy.kind() == RestartPolicySpec.Kind.NO) {
      return new Verdict.GivenUp("restart_policy is no");
    }
    if (policy.kind() == RestartPolicySpec.Kind.ON_FAILURE && success) {
      return new Verdict.GivenUp("it ended well");
    }
    if (policy.maxAttempts().map(max -> failures >= max).orElse(false)) {
      return new Verdict.GivenUp("gave up after %d restarts".formatted(failures));
    }
    return again(policy.delay().orElse(FIRST_PAUSE), failures, random);
  }

  /** The pause before the next try of something that is not the workload's fault. */
  static Duration patience(int failures, RandomGenerator random) {
    return new Backoff(Duration.ofSeconds(1), LONGEST_PAUSE, 2).delay(failures, JITTER, random);
  }

  /** The pause before an unhealthy replica is replaced. */
  static Duration again(int failures, RandomGenerator random) {
    return new Backoff(FIRST_PAUSE, LONGEST_PAUSE, 2).delay(failures, JITTER, random);
  }

  private static Verdict again(Duration first, int failures, RandomGenerator random) {
    Duration max = LONGEST_PAUSE.compareTo(first) < 0 ? first : LONGEST_PAUSE;
    return new Verdict.Again(new Backoff(first, max, 2).delay(failures, JITTER, random));
  }
}
