package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.schedule.CronPlanner;
import dev.zlayer.schedule.CronSchedule;
import dev.zlayer.schedule.Skipped;
import dev.zlayer.spec.ServiceSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * What the cluster remembers of a schedule: one key, so that whoever deals with a time of it does
 * so in the transaction that moves {@code anchor} past it. No time is dealt with twice.
 *
 * @param rule the expression and time zone that {@code anchor} was counted with
 * @param active whether it was on when it was looked at last
 * @param byHand what a person said last about being on or off; stronger than the file
 * @param anchor everything up to here has been dealt with
 * @param lastDue the last time that was run, as the schedule names it
 * @param lastRun when that was asked for
 */
public record ClusterSchedule(
    String rule,
    boolean active,
    Optional<Boolean> byHand,
    Instant anchor,
    Optional<Instant> lastDue,
    Optional<Instant> lastRun,
    Optional<Skipped> lastSkip,
    long skips) {
  private static final Duration APART = Duration.ofMinutes(5);

  static String key(String deployment, String job) {
    return StoreKeys.SCHEDULES + deployment + "/" + job;
  }

  static ClusterSchedule fresh(Instant now) {
    return new ClusterSchedule(
        "", false, Optional.empty(), now, Optional.empty(), Optional.empty(), Optional.empty(), 0);
  }

  /** The times that a file names. */
  public static CronSchedule times(ServiceSpec spec) {
    return new CronSchedule(spec.schedule().orElseThrow(), spec.cron().timezone());
  }

  public boolean enabled(ServiceSpec spec) {
    return byHand.orElse(spec.cron().enabled());
  }

  /**
   * With a new rule, or switched on again, times count from now; switched off they do not. They do
   * as well when the clock of a leader was far ahead, else nothing would run until that time.
   */
  ClusterSchedule settled(ServiceSpec spec, Instant now) {
    String own = spec.schedule().orElseThrow() + " " + spec.cron().timezone();
    boolean recount = !rule.equals(own) || !active || ofAnotherClock(times(spec), now);
    return recount || active != enabled(spec)
        ? new ClusterSchedule(
            own, enabled(spec), byHand, recount ? now : anchor, lastDue, lastRun, lastSkip, skips)
        : this;
  }

  /** Not for clocks that differ a little: nothing runs twice because another node leads. */
  private boolean ofAnotherClock(CronSchedule times, Instant now) {
    return anchor.isAfter(now.plus(APART))
        && CronPlanner.countsAnew(times, anchor, now)
        && times.between(now, anchor, 2).size() == 2;
  }

  /** The next time that will be run. */
  public Optional<Instant> nextDue(ServiceSpec spec) {
    return enabled(spec) ? times(spec).nextAfter(anchor) : Optional.empty();
  }

  /** When it will be asked for, with its part of the jitter. */
  public Optional<Instant> nextRun(String job, ServiceSpec spec) {
    return nextDue(spec).map(due -> CronPlanner.fireAt(job, due, spec.cron().jitter()));
  }

  ClusterSchedule byHand(boolean on) {
    return new ClusterSchedule(
        rule, active, Optional.of(on), anchor, lastDue, lastRun, lastSkip, skips);
  }

  ClusterSchedule ran(Instant due, Instant now) {
    return new ClusterSchedule(
        rule, active, byHand, due, Optional.of(due), Optional.of(now), lastSkip, skips);
  }

  ClusterSchedule skipped(Skipped skip) {
    return new ClusterSchedule(
        rule,
        active,
        byHand,
        skip.last(),
        lastDue,
        lastRun,
        Optional.of(skip),
        skips + skip.count());
  }

  String json() {
    return JsonText.print(RecordJson.write(this));
  }

  static ClusterSchedule parse(String json) {
    return RecordJson.read(JsonText.parse(json), ClusterSchedule.class);
  }
}
