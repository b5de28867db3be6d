package dev.zlayer.engine.job;

import java.time.Duration;

/**
 * What the operator sets for all jobs of a node.
 *
 * @param concurrency executions at the same time
 * @param queue executions that may wait
 * @param sweep time between two looks for results that are kept no longer
 */
public record JobConfig(int concurrency, int queue, Duration sweep) {
  public static final JobConfig DEFAULT = new JobConfig(64, 10_000, Duration.ofMinutes(1));
}
