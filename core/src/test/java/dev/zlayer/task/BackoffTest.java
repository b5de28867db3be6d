package dev.zlayer.task;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BackoffTest {
  @ParameterizedTest
  @CsvSource({"0,1", "1,2", "5,32", "6,60", "1000000,60", "-3,1"})
  void doublesFromOneSecondUpToAMinute(int attempt, long seconds) {
    assertThat(Backoff.DEFAULT.delay(attempt)).isEqualTo(Duration.ofSeconds(seconds));
  }

  @Test
  void jitterOnlyShortensAndStaysInItsShare() {
    var random = new Random(42);
    for (int i = 0; i < 1_000; i++) {
      assertThat(Backoff.DEFAULT.delay(3, 0.5, random))
          .isBetween(Duration.ofSeconds(4), Duration.ofSeconds(8));
    }
  }

  @Test
  void refusesWhatCannotGrow() {
    assertThatThrownBy(() -> new Backoff(Duration.ofSeconds(2), Duration.ofSeconds(1), 2))
        .isInstanceOf(AgentException.InvalidSpec.class);
    assertThatThrownBy(() -> new Backoff(Duration.ofSeconds(1), Duration.ofSeconds(2), 0.5))
        .isInstanceOf(AgentException.InvalidSpec.class);
    assertThatThrownBy(() -> new Backoff(Duration.ofSeconds(1), Duration.ofSeconds(2), Double.NaN))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }
}
