package dev.zlayer.engine.cron;

import dev.zlayer.engine.job.JobKey;
import dev.zlayer.schedule.Skipped;
import java.time.Instant;
import java.time.ZoneId;
import java.util.Optional;

/**
 * Where one schedule stands.
 *
 * @param lastDue the last occurrence that was run, as the schedule names it
 * @param lastRun when that was asked for
 * @param nextDue the next occurrence, while the schedule is on
 * @param nextRun when that will be asked for: its time and its share of the jitter
 * @param skips occurrences that were not run, in all
 * @param trouble why the last occurrence could not be dealt with and is tried again
 */
public record CronStatus(
    JobKey job,
    String expression,
    ZoneId zone,
    boolean enabled,
    Optional<Instant> lastDue,
    Optional<Instant> lastRun,
    Optional<Instant> nextDue,
    Optional<Instant> nextRun,
    Optional<Skipped> lastSkip,
    long skips,
    Optional<String> trouble) {}
