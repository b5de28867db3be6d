package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.Durations;
import dev.zlayer.spec.service.RestartPolicySpec;
import dev.zlayer.spec.service.RestartPolicySpec.Kind;
import dev.zlayer.task.Backoff;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What happens when a container's process has ended, or was never started. Written on the
 * container's labels, which live and die with it. Pure.
 *
 * @param remove so long after its end it is removed
 * @param startWithin so long after it was made it is removed unless it was started
 */
record AfterExit(
    Kind restart,
    Optional<Integer> most,
    Duration delay,
    Optional<Duration> remove,
    Optional<Duration> startWithin) {
  private static final String RESTART = "com.zlayer.restart";
  private static final String MOST = "com.zlayer.restart.most";
  private static final String DELAY = "com.zlayer.restart.delay";
  private static final String REMOVE = "com.zlayer.remove";
  private static final String START_WITHIN = "com.zlayer.start-within";

  /** What is left of a time that began then; never negative. */
  static Duration left(Instant begin, Duration limit, Instant now) {
    Duration left = Duration.between(now, begin.plus(limit));
    return left.isNegative() ? Duration.ZERO : left;
  }

  /** All that rules are written on. */
  static final Set<String> LABELS = Set.of(RESTART, MOST, DELAY, REMOVE, START_WITHIN);

  private static final Duration FIRST = Duration.ofMillis(100);
  private static final Duration LONGEST = Duration.ofMinutes(1);

  /** What to do now. */
  sealed interface Step {
    record Leave() implements Step {}

    record Remove(Duration after) implements Step {}

    record Restart(Duration after) implements Step {}
  }

  static AfterExit of(
      Optional<RestartPolicySpec> policy,
      Optional<Duration> remove,
      Optional<Duration> startWithin) {
    return new AfterExit(
        policy.map(RestartPolicySpec::kind).orElse(Kind.NO),
        policy.flatMap(RestartPolicySpec::maxAttempts),
        policy.flatMap(RestartPolicySpec::delay).orElse(FIRST),
        remove,
        startWithin);
  }

  /** The same with another policy. */
  AfterExit with(RestartPolicySpec policy) {
    return of(Optional.of(policy), remove, startWithin);
  }

  static AfterExit read(Map<String, String> labels) {
    return new AfterExit(
        Kind.valueOf(labels.getOrDefault(RESTART, "no").toUpperCase(Locale.ROOT)),
        Optional.ofNullable(labels.get(MOST)).map(Integer::valueOf),
        Durations.parse(labels.getOrDefault(DELAY, "0s")),
        Optional.ofNullable(labels.get(REMOVE)).map(AfterExit::linger),
        Optional.ofNullable(labels.get(START_WITHIN)).map(Durations::parse));
  }

  /** Earlier agents only noted that it has to go. */
  private static Duration linger(String label) {
    return label.equals("true") ? Duration.ZERO : Durations.parse(label);
  }

  Map<String, String> labels() {
    var labels = new LinkedHashMap<String, String>();
    if (restart != Kind.NO) {
      labels.put(RESTART, restart.name().toLowerCase(Locale.ROOT));
      labels.put(DELAY, Durations.print(delay));
      most.ifPresent(number -> labels.put(MOST, Integer.toString(number)));
    }
    remove.ifPresent(after -> labels.put(REMOVE, Durations.print(after)));
    startWithin.ifPresent(limit -> labels.put(START_WITHIN, Durations.print(limit)));
    return labels;
  }

  /**
   * Decides.
   *
   * @param failures restarts in a row without a run that lasted
   */
  Step next(ExitStatus exit, boolean stoppedByHand, int failures) {
    boolean again =
        !stoppedByHand
            && most.map(limit -> failures < limit).orElse(true)
            && switch (restart) {
              case ALWAYS, UNLESS_STOPPED -> true;
              case ON_FAILURE -> !exit.success();
              case NO -> false;
            };
    return again ? again(failures) : remove.<Step>map(Step.Remove::new).orElseGet(Step.Leave::new);
  }

  /** Another run, whatever the policy; later the more often it failed. */
  Step again(int failures) {
    Duration first = delay.isZero() ? FIRST : delay;
    Duration longest = first.compareTo(LONGEST) > 0 ? first : LONGEST;
    return new Step.Restart(new Backoff(first, longest, 2).delay(failures));
  }
}
