package dev.zlayer.error;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DurationsTest {
  @ParameterizedTest
  @CsvSource({
    "30s, PT30S",
    "1m 30s, PT1M30S",
    "2h37min, PT2H37M",
    "250ms, PT0.25S",
    "5 us 3ns, PT0.000005003S",
    "1day 2 hours, PT26H",
    "2w, PT336H",
    "1M, PT730H33M36S",
    "1y, PT8766H",
    "3 months, PT2191H40M48S",
    "30, PT30S",
    "0.5, PT0.5S",
    "0, PT0S",
    "0s, PT0S",
  })
  void parses(String text, Duration expected) {
    assertThat(Durations.parse(text)).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "s",
        "-5s",
        "5x",
        "5 parsecs",
        "1.5h",
        "5s!",
        "1,5",
        "1e3",
        "ss",
        "3s 5",
        "99999999999999999999s",
        "9223372036854775807y",
        "9999999999999999999999999999",
      })
  void refuses(String text) {
    assertThatThrownBy(() -> Durations.parse(text))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("duration");
  }

  @Test
  void printedDurationsParseToTheSame() {
    var random = new Random(7);
    for (int i = 0; i < 1_000; i++) {
      Duration duration =
          Duration.ofNanos(random.nextLong(Durations.MAX.toNanos()) >> random.nextInt(60));
      assertThat(Durations.parse(Durations.print(duration))).isEqualTo(duration);
    }
  }
}
