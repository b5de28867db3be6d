package dev.zlayer.engine.cron;

import dev.zlayer.engine.job.JobKey;
import dev.zlayer.schedule.CronExpression;
import dev.zlayer.schedule.CronSchedule;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** When schedules will run next, all of them together. Pure. */
public final class UpcomingRuns {
  private static final DateTimeFormatter MINUTES = DateTimeFormatter.ofPattern("HH:mm");

  private UpcomingRuns() {}

  /**
   * One run that is due.
   *
   * @param local the same time as the clocks of its zone show it
   * @param note why it is at this time, where the clocks of its zone are changed
   */
  public record Run(
      JobKey job, Instant due, ZonedDateTime local, ZoneId zone, Optional<String> note) {}

  /**
   * Up to and including {@code to}, earliest first.
   *
   * @param most of each schedule, so that one that runs every second leaves room for the others
   */
  public static List<Run> of(List<CronStatus> schedules, Instant to, int most) {
    var found = new ArrayList<Run>();
    for (CronStatus status : schedules) {
      var schedule = new CronSchedule(CronExpression.parse(status.expression()), status.zone());
      status
          .nextDue()
          .filter(first -> !first.isAfter(to))
          .ifPresent(
              first -> {
                found.add(run(status, first));
                schedule.between(first, to, most - 1).forEach(due -> found.add(run(status, due)));
              });
    }
    return found.stream().sorted(Comparator.comparing(Run::due).thenComparing(Run::job)).toList();
  }

  private static Run run(CronStatus status, Instant due) {
    ZonedDateTime local = due.atZone(status.zone());
    return new Run(status.job(), due, local, status.zone(), note(local));
  }

  private static Optional<String> note(ZonedDateTime local) {
    ZoneOffsetTransition change =
        local.getZone().getRules().previousTransition(local.toInstant().plusNanos(1));
    if (change != null && change.isGap() && change.getInstant().equals(local.toInstant())) {
      return Optional.of(
          "clocks are put forward from %s to %s; what is due between runs once now"
              .formatted(
                  MINUTES.format(change.getDateTimeBefore()),
                  MINUTES.format(change.getDateTimeAfter())));
    }
    ZoneOffsetTransition twice = local.getZone().getRules().getTransition(local.toLocalDateTime());
    return twice != null && twice.isOverlap()
        ? Optional.of("clocks are put back and show this time twice; it runs the first time")
        : Optional.empty();
  }
}
