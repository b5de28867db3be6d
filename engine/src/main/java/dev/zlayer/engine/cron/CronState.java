package dev.zlayer.engine.cron;

import dev.zlayer.engine.job.JobKey;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.schedule.Skipped;
import java.time.Instant;
import java.util.Optional;

/**
 * What is remembered of one schedule.
 *
 * @param rule the expression and time zone that {@code anchor} was counted with
 * @param active whether it was on when it was last looked at
 * @param byHand what a person said last about being on or off; stronger than the file
 * @param anchor everything up to here has been dealt with: run, skipped or not counted
 * @param lastDue the last occurrence that was run, as the schedule names it
 * @param lastRun when that was asked for
 */
record CronState(
    JobKey job,
    String rule,
    boolean active,
    Optional<Boolean> byHand,
    Instant anchor,
    Optional<Instant> lastDue,
    Optional<Instant> lastRun,
    Optional<Skipped> lastSkip,
    long skips) {
  static final String KIND = "cron.schedule";
  static final StoredFormat FORMAT = StoredFormat.of("the schedule");

  static CronState fresh(JobKey job, String rule, Instant now) {
    return new CronState(
        job,
        rule,
        false,
        Optional.empty(),
        now,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        0);
  }

  CronState countingFrom(String rule, boolean active, Instant anchor) {
    return new CronState(job, rule, active, byHand, anchor, lastDue, lastRun, lastSkip, skips);
  }

  CronState byHand(boolean on) {
    return new CronState(
        job, rule, active, Optional.of(on), anchor, lastDue, lastRun, lastSkip, skips);
  }

  CronState ran(Instant due, Instant now) {
    return new CronState(
        job, rule, active, byHand, due, Optional.of(due), Optional.of(now), lastSkip, skips);
  }

  CronState skipped(Skipped skip) {
    return new CronState(
        job,
        rule,
        active,
        byHand,
        skip.last(),
        lastDue,
        lastRun,
        Optional.of(skip),
        skips + skip.count());
  }

  String key() {
    return job.toString();
  }

  byte[] write() {
    return JsonText.bytes(
        FORMAT
            .begin()
            .put("deployment", job.deployment())
            .put("job", job.name())
            .put("rule", rule)
            .put("active", active)
            .putIf("by_hand", byHand)
            .put("anchor", anchor)
            .putIf("last_due", lastDue)
            .putIf("last_run", lastRun)
            .putIf("last_skip", lastSkip.map(Skipped::json))
            .put("skips", skips)
            .build());
  }

  static CronState read(byte[] bytes) {
    Json json = FORMAT.upgrade(JsonText.parse(bytes), "state.db");
    return new CronState(
        new JobKey(
            json.at("deployment").string().orElseThrow(), json.at("job").string().orElseThrow()),
        json.at("rule").string().orElseThrow(),
        json.at("active").bool().orElse(false),
        json.at("by_hand").bool(),
        Instant.parse(json.at("anchor").string().orElseThrow()),
        json.at("last_due").string().map(Instant::parse),
        json.at("last_run").string().map(Instant::parse),
        json.at("last_skip").isNull()
            ? Optional.empty()
            : Optional.of(Skipped.read(json.at("last_skip"))),
        json.at("skips").integer().orElse(0L));
  }
}
