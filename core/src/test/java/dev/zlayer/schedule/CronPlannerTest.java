package dev.zlayer.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.schedule.CronPlanner.Before;
import dev.zlayer.schedule.CronPlanner.Step;
import dev.zlayer.spec.job.CronSpec;
import dev.zlayer.spec.job.CronSpec.CatchUp;
import dev.zlayer.spec.job.CronSpec.Overlap;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CronPlannerTest {
  private static final String JOB = "shop/report";
  private static final Instant NOON = Instant.parse("2026-06-01T12:00:00Z");
  private static final CronSchedule HOURLY =
      new CronSchedule(CronExpression.parse("0 * * * *"), ZoneOffset.UTC);

  private static CronSpec settings(Overlap overlap, CatchUp catchUp, int limit, Duration jitter) {
    return new CronSpec(ZoneOffset.UTC, overlap, catchUp, limit, jitter, true);
  }

  private static List<Step> plan(CronSpec settings, Instant since, Instant present, boolean live) {
    return CronPlanner.plan(JOB, HOURLY, settings, since, present, live, NOON.plusSeconds(2));
  }

  private static Instant hour(int before) {
    return NOON.minus(Duration.ofHours(before));
  }

  @Test
  void nothingIsDueBetweenTwoTimes() {
    var settings = settings(Overlap.FORBID, CatchUp.ALL, 10, Duration.ZERO);

    assertThat(plan(settings, NOON, hour(5), true)).isEmpty();
  }

  @Test
  void overlapDecidesOnAnExecutionThatHasNotEnded() {
    Instant since = hour(1);
    for (Overlap overlap : Overlap.values()) {
      var settings = settings(overlap, CatchUp.LAST, 10, Duration.ZERO);
      assertThat(plan(settings, since, hour(5), true))
          .as(overlap.name())
          .containsExactly(
              switch (overlap) {
                case FORBID ->
                    new Step.Skip(new Skipped(NOON, NOON, 1, "the execution before has not ended"));
                case ALLOW -> new Step.Run(NOON, Before.NOTHING);
                case REPLACE -> new Step.Run(NOON, Before.CANCEL);
                case QUEUE -> new Step.Run(NOON, Before.WAIT);
              });
    }
    assertThat(
            plan(settings(Overlap.FORBID, CatchUp.LAST, 10, Duration.ZERO), since, hour(5), false))
        .containsExactly(new Step.Run(NOON, Before.NOTHING));
  }

  @Test
  void catchUpDecidesOnWhatWasMissed() {
    Instant since = hour(5);
    Instant present = NOON.plusSeconds(1);

    assertThat(
            plan(settings(Overlap.FORBID, CatchUp.NONE, 10, Duration.ZERO), since, present, false))
        .containsExactly(new Step.Skip(new Skipped(hour(4), NOON, 5, CronPlanner.MISSED)));
    assertThat(
            plan(settings(Overlap.FORBID, CatchUp.LAST, 10, Duration.ZERO), since, present, false))
        .containsExactly(
            new Step.Skip(new Skipped(hour(4), hour(1), 4, CronPlanner.MISSED)),
            new Step.Run(NOON, Before.WAIT));
    assertThat(plan(settings(Overlap.ALLOW, CatchUp.ALL, 2, Duration.ZERO), since, present, false))
        .containsExactly(
            new Step.Skip(new Skipped(hour(4), hour(2), 3, CronPlanner.MISSED)),
            new Step.Run(hour(1), Before.NOTHING),
            new Step.Run(NOON, Before.NOTHING));
    assertThat(plan(settings(Overlap.FORBID, CatchUp.ALL, 9, Duration.ZERO), since, present, false))
        .hasSize(5)
        .allSatisfy(step -> assertThat(((Step.Run) step).before()).isEqualTo(Before.WAIT));
  }

  @Test
  void whatIsSeenFarTooLateWasMissedEvenWithTheAgentThere() {
    var settings = settings(Overlap.ALLOW, CatchUp.NONE, 10, Duration.ZERO);

    assertThat(plan(settings, hour(3), hour(9), false))
        .as("the machine slept for two hours")
        .containsExactly(
            new Step.Skip(new Skipped(hour(2), hour(1), 2, CronPlanner.MISSED)),
            new Step.Run(NOON, Before.NOTHING));
  }

  @Test
  void aYearOfSecondsIsDealtWithAtOnce() {
    var seconds = new CronSchedule(CronExpression.parse("* * * * * *"), ZoneOffset.UTC);
    var settings = settings(Overlap.FORBID, CatchUp.LAST, 100, Duration.ZERO);

    List<Step> steps =
        CronPlanner.plan(
            JOB,
            seconds,
            settings,
            hour(365 * 24),
            NOON.plusSeconds(1),
            false,
            NOON.plusSeconds(1));

    assertThat(steps).hasSizeBetween(2, 3);
    assertThat(steps.getFirst())
        .isInstanceOfSatisfying(
            Step.Skip.class,
            skip -> assertThat(skip.skipped().count()).isEqualTo(CronPlanner.MOST_COUNTED));
  }

  @Test
  void jitterIsBoundedAndAlwaysTheSame() {
    Duration jitter = Duration.ofMinutes(10);
    var different = new java.util.HashSet<Instant>();
    for (int i = 0; i < 500; i++) {
      Instant due = hour(i);
      Instant fire = CronPlanner.fireAt(JOB, due, jitter);
      assertThat(fire)
          .isBetween(due, due.plus(jitter))
          .isEqualTo(CronPlanner.fireAt(JOB, due, jitter));
      different.add(Instant.EPOCH.plus(Duration.between(due, fire)));
    }
    assertThat(different).hasSizeGreaterThan(450);
  }

  /** However often and whenever somebody looks, every occurrence is dealt with once, in order. */
  @Test
  void everyOccurrenceIsDealtWithOnce() {
    long seed = new Random().nextLong();
    System.out.println("seed " + seed);
    var random = new Random(seed);
    for (int round = 0; round < 300; round++) {
      var schedule =
          new CronSchedule(
              CronExpression.parse(
                  List.of("*/5 * * * *", "@every 7m", "* * * * *").get(random.nextInt(3))),
              ZoneOffset.UTC);
      var settings =
          settings(
              Overlap.values()[random.nextInt(4)],
              CatchUp.values()[random.nextInt(3)],
              1 + random.nextInt(5),
              Duration.ofSeconds(random.nextInt(3) * 200));
      Instant anchor = NOON;
      Instant now = NOON;
      long handled = 0;
      while (now.isBefore(NOON.plus(Duration.ofHours(20)))) {
        now = now.plusSeconds(1 + random.nextInt(random.nextInt(10) == 0 ? 20_000 : 90));
        Instant present = random.nextInt(10) == 0 ? now : NOON;
        for (Step step :
            CronPlanner.plan(JOB, schedule, settings, anchor, present, random.nextBoolean(), now)) {
          Instant expected = schedule.nextAfter(anchor).orElseThrow();
          switch (step) {
            case Step.Run(Instant due, _) -> {
              assertThat(due).isEqualTo(expected);
              anchor = due;
              handled++;
            }
            case Step.Skip(Skipped skipped) -> {
              assertThat(skipped.first()).isEqualTo(expected);
              assertThat((long) schedule.between(anchor, skipped.last(), 100_000).size())
                  .isEqualTo(skipped.count());
              anchor = skipped.last();
              handled += skipped.count();
            }
          }
        }
        Instant next = schedule.nextAfter(anchor).orElseThrow();
        assertThat(CronPlanner.fireAt(JOB, next, settings.jitter()))
            .as("nothing that is due stays behind")
            .isAfter(now);
      }
      assertThat(handled).isEqualTo(schedule.between(NOON, anchor, 1_000_000).size());
    }
  }
}
