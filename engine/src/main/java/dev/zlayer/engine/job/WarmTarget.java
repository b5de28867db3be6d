package dev.zlayer.engine.job;

import java.util.Comparator;
import java.util.Optional;

/**
 * What a container is made ahead for: executions of a job that want the same variables and
 * arguments.
 *
 * @param overrides only what a container is made from
 */
record WarmTarget(JobKey job, Overrides overrides) implements Comparable<WarmTarget> {
  private static final Comparator<WarmTarget> ORDER =
      Comparator.comparing(WarmTarget::job)
          .thenComparing(target -> !target.overrides.usual())
          .thenComparing(target -> target.overrides.toString());

  WarmTarget {
    overrides =
        new Overrides(overrides.args(), overrides.env(), Optional.empty(), overrides.gpus());
  }

  /** As its job says. */
  static WarmTarget usual(JobKey job) {
    return new WarmTarget(job, Overrides.NONE);
  }

  static WarmTarget of(Execution execution) {
    return new WarmTarget(execution.job(), execution.overrides());
  }

  @Override
  public int compareTo(WarmTarget other) {
    return ORDER.compare(this, other);
  }
}
