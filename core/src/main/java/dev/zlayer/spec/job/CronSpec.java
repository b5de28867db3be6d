package dev.zlayer.spec.job;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import java.time.Duration;
import java.time.ZoneId;

/** Settings of a schedule. */
@Doc("Settings of a schedule.")
public record CronSpec(
    @Doc("Time zone of the schedule.") @Default("UTC") ZoneId timezone,
    @Doc(
            "What to do when a run is due while the previous one is still running: forbid skips "
                + "it, allow starts it, replace cancels the previous one, queue waits for it.")
        @Default("forbid")
        Overlap overlap,
    @Doc("Missed runs to make up after the agent was down: none, only the last, or all.")
        @Default("last")
        CatchUp catchUp,
    @Doc("Maximum number of missed runs for catch_up: all.") @Default("100") @Range(min = 1)
        int catchUpLimit,
    @Doc("Random delay of each run, up to this duration.") @Default("0s") Duration jitter,
    @Doc("Whether the schedule is active; it can always be triggered manually.") @Default("true")
        boolean enabled) {
  public enum Overlap {
    FORBID,
    ALLOW,
    REPLACE,
    QUEUE
  }

  public enum CatchUp {
    NONE,
    LAST,
    ALL
  }
}
