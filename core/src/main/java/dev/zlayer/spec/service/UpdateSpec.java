package dev.zlayer.spec.service;

import dev.zlayer.schedule.CronExpression;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import java.time.Duration;
import java.util.Optional;

/** How a change is rolled out over the replicas. */
@Doc("How a change is rolled out over the replicas.")
public record UpdateSpec(
    @Doc("start_first starts the new replica before the old one stops, stop_first the reverse.")
        @Default("start_first")
        Strategy strategy,
    @Doc(
            "Replicas that may be missing during an update (default: 0 for start_first, 1 for "
                + "stop_first).")
        @Range(min = 0, max = 1000)
        Optional<Integer> maxUnavailable,
    @Doc("Extra replicas during an update (default: 1 for start_first, 0 for stop_first).")
        @Range(min = 0, max = 1000)
        Optional<Integer> maxSurge,
    @Doc("Roll back to the last good revision when a new replica does not become healthy.")
        @Default("true")
        boolean rollback,
    @Doc("A new replica must stay healthy this long before the next one is replaced.")
        @Default("5s")
        Duration minHealthyTime,
    @Doc(
            "Cron expression (UTC): when to ask the registry for a newer image and roll it out. "
                + "Needs image.pull_policy newer or always.")
        Optional<CronExpression> autoUpdate) {
  public enum Strategy {
    START_FIRST,
    STOP_FIRST
  }

  /** The written number, else what the strategy means. */
  public int unavailable() {
    return maxUnavailable.orElse(strategy == Strategy.START_FIRST ? 0 : 1);
  }

  /** The written number, else what the strategy means. */
  public int surge() {
    return maxSurge.orElse(strategy == Strategy.START_FIRST ? 1 : 0);
  }
}
