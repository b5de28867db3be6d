package dev.zlayer.engine.cron;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.job.JobKey;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class UpcomingRunsTest {
  private static final Instant NOW = Instant.parse("2026-03-28T12:00:00Z");

  private static CronStatus schedule(
      String name, String expression, String zone, Optional<Instant> next) {
    return new CronStatus(
        new JobKey("shop", name),
        expression,
        ZoneId.of(zone),
        next.isPresent(),
        Optional.empty(),
        Optional.empty(),
        next,
        next,
        Optional.empty(),
        0,
        Optional.empty());
  }

  @Test
  void runsOfAllSchedulesComeInTheOrderOfTimeWithThatOfTheirZone() {
    CronStatus hourly =
        schedule(
            "hourly", "0 0 * * * *", "UTC", Optional.of(Instant.parse("2026-03-28T13:00:00Z")));
    CronStatus daily =
        schedule(
            "daily",
            "0 30 9 * * *",
            "America/New_York",
            Optional.of(Instant.parse("2026-03-28T13:30:00Z")));

    List<UpcomingRuns.Run> runs =
        UpcomingRuns.of(List.of(hourly, daily), NOW.plusSeconds(3 * 3600), 10);

    assertThat(runs)
        .extracting(run -> run.job().name() + " " + run.local().toLocalTime())
        .containsExactly("hourly 13:00", "daily 09:30", "hourly 14:00", "hourly 15:00");
    assertThat(UpcomingRuns.of(List.of(hourly, daily), NOW.plusSeconds(3 * 86400), 2))
        .extracting(run -> run.job().name())
        .containsExactly("hourly", "daily", "hourly", "daily");
  }

  @Test
  void aDisabledScheduleHasNone() {
    CronStatus off = schedule("off", "0 0 * * * *", "UTC", Optional.empty());

    assertThat(UpcomingRuns.of(List.of(off), NOW.plusSeconds(86400), 10)).isEmpty();
  }

  @Test
  void aTimeThatClocksSkipOrShowTwiceIsExplained() {
    CronStatus spring =
        schedule(
            "spring",
            "0 30 2 * * *",
            "Europe/Berlin",
            Optional.of(Instant.parse("2026-03-29T01:00:00Z")));
    CronStatus autumn =
        schedule(
            "autumn",
            "0 30 2 * * *",
            "Europe/Berlin",
            Optional.of(Instant.parse("2026-10-25T00:30:00Z")));

    assertThat(UpcomingRuns.of(List.of(spring), NOW.plusSeconds(86400), 1).getFirst().note())
        .contains("clocks are put forward from 02:00 to 03:00; what is due between runs once now");
    assertThat(
            UpcomingRuns.of(List.of(autumn), Instant.parse("2026-10-26T00:00:00Z"), 1)
                .getFirst()
                .note())
        .contains("clocks are put back and show this time twice; it runs the first time");
    assertThat(UpcomingRuns.of(List.of(spring), NOW.plusSeconds(3 * 86400), 9).getLast().note())
        .isEmpty();
  }
}
