package dev.zlayer.schedule;

import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The points in time of one schedule. Pure.
 *
 * <p>Where clocks are put forward, the times that do not exist are made up for by one run at the
 * moment of the change, however many of them there are. Where clocks are put back, a time that
 * exists twice counts the first time only. {@code @every} counts elapsed time and knows neither.
 */
public record CronSchedule(CronExpression expression, ZoneId zone) {
  private static final Duration SHORTEST_LOOK_BACK = Duration.ofMinutes(1);

  /** The first occurrence after {@code time}; for {@code @every} one interval later. */
  public Optional<Instant> nextAfter(Instant time) {
    Optional<Duration> interval = expression.interval();
    if (interval.isPresent()) {
      return Optional.of(Saturating.plus(time, interval.get()));
    }
    Optional<LocalDateTime> local = expression.nextAfter(start(time));
    while (local.isPresent()) {
      Instant instant = instantOf(local.get());
      if (instant.isAfter(time)) {
        return Optional.of(instant);
      }
      local = expression.nextAfter(local.get());
    }
    return Optional.empty();
  }

  /** The occurrences after {@code from} up to and including {@code to}, at most {@code limit}. */
  public List<Instant> between(Instant from, Instant to, int limit) {
    var found = new ArrayList<Instant>();
    Optional<Instant> next = nextAfter(from);
    while (found.size() < limit && next.isPresent() && !next.get().isAfter(to)) {
      found.add(next.get());
      next = nextAfter(next.get());
    }
    return found;
  }

  /**
   * The newest {@code limit} occurrences after {@code from} up to {@code to}, oldest first. Looks
   * back from the end in growing steps, so a long time costs no more than a short one.
   */
  public List<Instant> newestBetween(Instant from, Instant to, int limit) {
    if (expression.interval().isPresent()) {
      return newestMultiples(from, to, limit, expression.interval().get());
    }
    Duration back = SHORTEST_LOOK_BACK;
    while (true) {
      Instant start = back.compareTo(Duration.between(from, to)) >= 0 ? from : to.minus(back);
      List<Instant> found = between(start, to, Integer.MAX_VALUE);
      if (found.size() >= limit || start.equals(from)) {
        return List.copyOf(found.subList(Math.max(0, found.size() - limit), found.size()));
      }
      back = back.multipliedBy(2);
    }
  }

  private static List<Instant> newestMultiples(
      Instant from, Instant to, int limit, Duration interval) {
    if (!to.isAfter(from)) {
      return List.of();
    }
    long count = Duration.between(from, to).dividedBy(interval);
    var found = new ArrayList<Instant>();
    for (long i = Math.max(1, count - limit + 1); i <= count; i++) {
      found.add(from.plus(interval.multipliedBy(i)));
    }
    return found;
  }

  /** A local time from which every occurrence after {@code time} still lies ahead. */
  private LocalDateTime start(Instant time) {
    var local = time.atZone(zone);
    boolean secondPass = !local.equals(local.withEarlierOffsetAtOverlap());
    ZoneOffsetTransition overlap = zone.getRules().getTransition(local.toLocalDateTime());
    return secondPass && overlap != null
        ? overlap.getDateTimeBefore().minusSeconds(1)
        : local.toLocalDateTime();
  }

  private Instant instantOf(LocalDateTime local) {
    ZoneOffsetTransition transition = zone.getRules().getTransition(local);
    return transition != null && transition.isGap()
        ? transition.getInstant()
        : local.atZone(zone).toInstant();
  }
}
