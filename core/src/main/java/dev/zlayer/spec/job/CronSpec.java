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
            "When a run is due and the last one is not finished: forbid skips it, allow starts it,"
                + " replace cancels the last one, queue waits for it.")
        @Default("forbid")
        Overlap overlap,
    @Doc("Runs that were due while the agent was down: none, only the last, or all.")
        @Default("last")
        CatchUp catchUp,
    @Doc("Runs that catch_up: all makes up for at most.") @Default("100") @Range(min = 1)
        int catchUpLimit,
    @Doc("Each run is delayed by a random time up to this.") @Default("0s") Duration jitter,
    @Doc("Whether the schedule is on; it can always be run by hand.") @Default("true")
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
