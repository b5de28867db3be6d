package dev.zlayer.engine.cron;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.job.JobKey;
import dev.zlayer.json.JsonText;
import dev.zlayer.schedule.Skipped;
import dev.zlayer.testkit.FrozenFormat;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What is stored of schedules stays as the frozen example is. */
class StoredScheduleTest {
  @Test
  void aScheduleIsStoredAsItWas() {
    Instant now = Instant.parse("2024-05-06T07:08:09Z");
    var state =
        new CronState(
            new JobKey("shop", "report"),
            "*/5 * * * * UTC",
            true,
            Optional.of(false),
            now,
            Optional.of(now),
            Optional.of(now),
            Optional.of(new Skipped(now, now, 2, "still running")),
            7);
    String name = "schedule-v%d.json".formatted(CronState.FORMAT.version());
    FrozenFormat.check(name, JsonText.parse(state.write()));
    assertThat(CronState.read(FrozenFormat.read(name))).isEqualTo(state);
  }
}
