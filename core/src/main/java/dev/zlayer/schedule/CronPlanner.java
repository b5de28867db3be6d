package dev.zlayer.schedule;

import dev.zlayer.spec.job.CronSpec;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Decides what becomes of the occurrences of one schedule that are due. Pure. */
public final class CronPlanner {
  /** Older occurrences than these many are skipped without being counted one by one. */
  public static final int MOST_COUNTED = 10_000;

  /** An occurrence that is seen later than this was missed: the machine slept, the clock moved. */
  public static final Duration PUNCTUAL = Duration.ofMinutes(1);

  private static final Duration REPEATED_TIME = Duration.ofHours(3);
  private static final Duration FREQUENT = Duration.ofHours(1);

  public static final String MISSED = "it was due while the agent was not there";

  /** What to do with occurrences, in order. */
  public sealed interface Step {
    record Run(Instant due, Before before) implements Step {}

    record Skip(Skipped skipped) implements Step {}
  }

  /** What has to become of earlier executions first. */
  public enum Before {
    /** Nothing: they may run at the same time. */
    NOTHING,
    /** They must have ended. */
    WAIT,
    /** They are cancelled. */
    CANCEL
  }

  private CronPlanner() {}

  /**
   * Whether a schedule counts anew from {@code now}, because the clock was set back. By less than
   * three hours, a schedule with a time of the day does not run again what it has run; one that
   * runs at least hourly counts from the new time.
   *
   * @param anchor everything up to here has been dealt with
   */
  public static boolean countsAnew(CronSchedule schedule, Instant anchor, Instant now) {
    Duration ahead = Saturating.between(now, anchor);
    return ahead.isPositive() && (ahead.compareTo(REPEATED_TIME) >= 0 || isFrequent(schedule, now));
  }

  private static boolean isFrequent(CronSchedule schedule, Instant now) {
    List<Instant> two = schedule.between(now, Saturating.plus(now, REPEATED_TIME), 2);
    return two.size() == 2
        && Duration.between(two.getFirst(), two.getLast()).compareTo(FREQUENT) <= 0;
  }

  /** When an occurrence is really run: up to {@code jitter} later, always by the same time. */
  public static Instant fireAt(String job, Instant due, Duration jitter) {
    if (jitter.isZero()) {
      return due;
    }
    long mixed = job.hashCode() * 0x9e3779b97f4a7c15L + due.getEpochSecond();
    mixed = (mixed ^ (mixed >>> 30)) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    double share = ((mixed ^ (mixed >>> 31)) >>> 11) * 0x1p-53;
    return due.plusNanos((long) (share * Saturating.nanos(jitter)));
  }

  /**
   * Plans what is due at {@code now}.
   *
   * @param job its name, by which the runs of different schedules are spread over the jitter
   * @param since everything up to here has been dealt with
   * @param present since when the agent is there
   * @param live whether an execution of the job has not ended
   */
  public static List<Step> plan(
      String job,
      CronSchedule schedule,
      CronSpec settings,
      Instant since,
      Instant present,
      boolean live,
      Instant now) {
    List<Instant> due = due(job, schedule, settings, since, now);
    if (due.isEmpty()) {
      return List.of();
    }
    int split = due.size();
    while (split > 0 && !missed(job, settings, due.get(split - 1), present, now)) {
      split--;
    }
    List<Instant> missed = due.subList(0, split);
    List<Instant> punctual = due.subList(split, due.size());
    int madeUp = Math.min(missed.size(), wanted(settings));
    var steps = new ArrayList<Step>();
    Instant firstRun =
        madeUp > 0
            ? missed.get(missed.size() - madeUp)
            : punctual.isEmpty() ? Instant.MAX : punctual.getFirst();
    skipBefore(schedule, since, firstRun, due.getLast()).ifPresent(steps::add);
    for (Instant one : missed.subList(missed.size() - madeUp, missed.size())) {
      // making up for several at once would be pointless if each forbade the next
      boolean together = settings.overlap() == CronSpec.Overlap.ALLOW;
      steps.add(new Step.Run(one, together ? Before.NOTHING : Before.WAIT));
    }
    boolean busy = live || madeUp > 0;
    for (Instant one : punctual) {
      steps.add(overlapping(settings, one, busy));
      busy |= steps.getLast() instanceof Step.Run;
    }
    return steps;
  }

  /** The newest occurrences whose time has come, jitter included; none overtakes an older one. */
  private static List<Instant> due(
      String job, CronSchedule schedule, CronSpec settings, Instant since, Instant now) {
    int most = settings.catchUpLimit() + 1;
    var due =
        new ArrayList<>(
            schedule.newestBetween(since, Saturating.plus(now, settings.jitter().negated()), most));
    Instant certain = due.isEmpty() ? since : due.getLast();
    schedule.between(certain, now, Integer.MAX_VALUE).stream()
        .takeWhile(one -> !fireAt(job, one, settings.jitter()).isAfter(now))
        .forEach(due::add);
    return due;
  }

  private static boolean missed(
      String job, CronSpec settings, Instant due, Instant present, Instant now) {
    Instant fireAt = fireAt(job, due, settings.jitter());
    return fireAt.isBefore(present) || fireAt.plus(PUNCTUAL).isBefore(now);
  }

  private static int wanted(CronSpec settings) {
    return switch (settings.catchUp()) {
      case NONE -> 0;
      case LAST -> 1;
      case ALL -> settings.catchUpLimit();
    };
  }

  private static Optional<Step> skipBefore(
      CronSchedule schedule, Instant since, Instant firstRun, Instant lastDue) {
    Instant end = firstRun.isAfter(lastDue) ? lastDue : firstRun.minusNanos(1);
    List<Instant> old = schedule.between(since, end, MOST_COUNTED);
    if (old.isEmpty()) {
      return Optional.empty();
    }
    Instant last =
        old.size() < MOST_COUNTED ? old.getLast() : schedule.newestBetween(since, end, 1).getLast();
    return Optional.of(new Step.Skip(new Skipped(old.getFirst(), last, old.size(), MISSED)));
  }

  private static Step overlapping(CronSpec settings, Instant due, boolean busy) {
    return switch (settings.overlap()) {
      case ALLOW -> new Step.Run(due, Before.NOTHING);
      case QUEUE -> new Step.Run(due, Before.WAIT);
      case REPLACE -> new Step.Run(due, Before.CANCEL);
      case FORBID ->
          busy
              ? new Step.Skip(new Skipped(due, due, 1, "the execution before has not ended"))
              : new Step.Run(due, Before.NOTHING);
    };
  }
}
