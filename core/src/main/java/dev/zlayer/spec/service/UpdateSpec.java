package dev.zlayer.spec.service;

import dev.zlayer.schedule.CronExpression;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.value.Percentage;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** How a change is rolled out over the replicas. */
@Doc("How a change is rolled out over the replicas.")
public record UpdateSpec(
    @Doc(
            "start_first starts the new replica before the old one stops, stop_first the reverse;"
                + " rolling is start_first; blue_green starts all new replicas, sends them all"
                + " requests at once and keeps the old ones for bake; canary moves requests in"
                + " steps.")
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
        Optional<CronExpression> autoUpdate,
    @Doc("With canary: share of requests for the new replicas, step by step (default: 5%, 50%).")
        Optional<List<Percentage>> steps,
    @Doc(
            "With blue_green and canary: how much more of the requests to the new replicas may fail"
                + " than of those to the old ones (default: 5%).")
        Optional<Percentage> maxErrorRate,
    @Doc(
            "With blue_green and canary: how long each step is watched before the next (default:"
                + " 30s).")
        Optional<Duration> bake) {
  private static final List<Percentage> USUAL_STEPS =
      List.of(Percentage.parse("5%"), Percentage.parse("50%"));
  private static final Percentage USUAL_ERROR_RATE = Percentage.parse("5%");
  private static final Duration USUAL_BAKE = Duration.ofSeconds(30);

  public UpdateSpec {
    steps = steps.map(List::copyOf);
  }

  public enum Strategy {
    START_FIRST,
    STOP_FIRST,
    ROLLING,
    BLUE_GREEN,
    CANARY;

    /** Whether all old replicas stay until the new ones have served requests. */
    public boolean staged() {
      return this == BLUE_GREEN || this == CANARY;
    }
  }

  /** Those that are written, else the usual ones. */
  public List<Percentage> canarySteps() {
    return steps.filter(written -> !written.isEmpty()).orElse(USUAL_STEPS);
  }

  public Percentage errorRate() {
    return maxErrorRate.orElse(USUAL_ERROR_RATE);
  }

  public Duration bakeTime() {
    return bake.orElse(USUAL_BAKE);
  }

  /** The written number, else what the strategy means. */
  public int unavailable() {
    return maxUnavailable.orElse(strategy == Strategy.STOP_FIRST ? 1 : 0);
  }

  /** The written number, else what the strategy means. */
  public int surge() {
    return maxSurge.orElse(strategy == Strategy.STOP_FIRST ? 0 : 1);
  }
}
