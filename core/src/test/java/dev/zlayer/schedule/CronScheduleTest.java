package dev.zlayer.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CronScheduleTest {
  private static CronSchedule schedule(String expression, String zone) {
    return new CronSchedule(CronExpression.parse(expression), ZoneId.of(zone));
  }

  private static Instant at(String text) {
    return Instant.parse(text);
  }

  @Test
  void aSkippedTimeRunsOnceAfterTheGap() {
    CronSchedule daily = schedule("30 2 * * *", "Europe/Berlin");

    assertThat(daily.between(at("2026-03-28T00:00:00Z"), at("2026-03-31T00:00:00Z"), 10))
        .containsExactly(
            at("2026-03-28T01:30:00Z"), at("2026-03-29T01:00:00Z"), at("2026-03-30T00:30:00Z"));
  }

  @Test
  void manySkippedTimesRunOnceTogetherWithOneThatFallsOnTheEndOfTheGap() {
    CronSchedule minutes = schedule("*/10 2-3 * * *", "Europe/Berlin");

    assertThat(minutes.between(at("2026-03-29T00:30:00Z"), at("2026-03-29T01:20:00Z"), 10))
        .containsExactly(
            at("2026-03-29T01:00:00Z"), at("2026-03-29T01:10:00Z"), at("2026-03-29T01:20:00Z"));
  }

  @Test
  void aRepeatedTimeRunsOnce() {
    CronSchedule daily = schedule("30 2 * * *", "Europe/Berlin");

    assertThat(daily.between(at("2026-10-24T12:00:00Z"), at("2026-10-26T12:00:00Z"), 10))
        .containsExactly(at("2026-10-25T00:30:00Z"), at("2026-10-26T01:30:00Z"));
    assertThat(daily.nextAfter(at("2026-10-25T01:29:59Z")))
        .as("asked for within the second pass")
        .contains(at("2026-10-26T01:30:00Z"));
  }

  @Test
  void intervalsIgnoreTheCalendar() {
    CronSchedule every = schedule("@every 45m", "Europe/Berlin");

    assertThat(every.between(at("2026-03-29T00:00:00Z"), at("2026-03-29T02:15:00Z"), 10))
        .containsExactly(
            at("2026-03-29T00:45:00Z"), at("2026-03-29T01:30:00Z"), at("2026-03-29T02:15:00Z"));
    assertThat(every.newestBetween(at("2026-03-29T00:00:00Z"), at("2027-03-29T00:01:00Z"), 1))
        .containsExactly(at("2027-03-29T00:00:00Z"));
  }

  @Test
  void whatNeverComesIsEmpty() {
    assertThat(schedule("0 0 30 2 *", "UTC").nextAfter(at("2026-01-01T00:00:00Z"))).isEmpty();
    assertThat(
            schedule("0 0 30 2 *", "UTC")
                .newestBetween(at("2020-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z"), 3))
        .isEmpty();
  }

  @Test
  void theNewestOfALongTimeAreFoundAtOnce() {
    CronSchedule seconds = schedule("* * * * * *", "America/New_York");

    assertThat(seconds.newestBetween(at("1990-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z"), 2))
        .containsExactly(at("2025-12-31T23:59:59Z"), at("2026-01-01T00:00:00Z"));
  }

  /**
   * Walks over every transition of forty years and compares with a judge that knows no rules: every
   * matching local time of these days, put on the time line as stated, duplicates once.
   */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Europe/Berlin",
        "America/New_York",
        "America/St_Johns", // half an hour off
        "Australia/Lord_Howe", // moves by half an hour
        "Africa/Casablanca", // moves around a lunar month
        "Pacific/Apia", // left out a whole day
        "America/Sao_Paulo", // moved at midnight
        "Antarctica/Troll", // moves by two hours
        "Asia/Kolkata" // never moves
      })
  void holdsOverEveryTransition(String name) {
    ZoneId zone = ZoneId.of(name);
    List<String> expressions =
        List.of("30 2 * * *", "*/17 * * * *", "0 0 * * *", "15 1-3 * * 0", "0 0/7 0-4 * * ?");
    Instant time = at("2000-01-01T00:00:00Z");
    ZoneOffsetTransition transition = zone.getRules().nextTransition(time);
    while (transition != null && transition.getInstant().isBefore(at("2040-01-01T00:00:00Z"))) {
      Instant from = transition.getInstant().minus(Duration.ofHours(30));
      Instant to = transition.getInstant().plus(Duration.ofHours(30));
      for (String text : expressions) {
        CronSchedule schedule = schedule(text, name);
        assertThat(schedule.between(from, to, 10_000))
            .as("%s in %s at %s", text, name, transition)
            .containsExactlyElementsOf(judge(schedule, from, to));
      }
      transition = zone.getRules().nextTransition(transition.getInstant());
    }
  }

  private static TreeSet<Instant> judge(CronSchedule schedule, Instant from, Instant to) {
    var due = new TreeSet<Instant>();
    LocalDateTime local = from.atZone(schedule.zone()).toLocalDateTime().minusDays(2);
    LocalDateTime end = to.atZone(schedule.zone()).toLocalDateTime().plusDays(2);
    var next = schedule.expression().nextAfter(local);
    while (next.isPresent() && !next.get().isAfter(end)) {
      LocalDateTime time = next.get();
      // a gap moves a local time forward by its length: the run belongs to the gap's end
      var rules = schedule.zone().getRules();
      Instant instant =
          rules.getValidOffsets(time).isEmpty()
              ? rules.getTransition(time).getInstant()
              : time.toInstant(rules.getValidOffsets(time).getFirst());
      if (instant.isAfter(from) && !instant.isAfter(to)) {
        due.add(instant);
      }
      next = schedule.expression().nextAfter(time);
    }
    return due;
  }

  @Test
  void askingFromAnyMomentGivesTheSameTimes() {
    long seed = new Random().nextLong();
    System.out.println("seed " + seed);
    var random = new Random(seed);
    CronSchedule schedule = schedule("*/13 * * * *", "Australia/Lord_Howe");
    Instant start = at("2026-04-03T00:00:00Z");
    List<Instant> all = schedule.between(start, start.plus(Duration.ofDays(5)), 10_000);
    for (int i = 0; i < 2000; i++) {
      Instant moment = start.plusSeconds(random.nextInt(4 * 86_400));
      assertThat(schedule.nextAfter(moment))
          .contains(all.stream().filter(due -> due.isAfter(moment)).findFirst().orElseThrow());
    }
  }
}
