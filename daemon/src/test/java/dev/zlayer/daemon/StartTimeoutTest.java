package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StartTimeoutTest {
  @Test
  void moreTimeIsAskedForAtOnceAndBeforeTheLastExtensionEnds() {
    List<Duration> asked = new ArrayList<>();
    var timeout = new StartTimeout(asked::add);
    assertThat(asked).containsExactly(StartTimeout.EXTENSION);

    for (int round = 0; round < 3; round++) {
      assertThat(timeout.round()).isLessThanOrEqualTo(StartTimeout.EXTENSION.dividedBy(2));
    }

    assertThat(asked).hasSize(3).containsOnly(StartTimeout.EXTENSION);
    assertThat(timeout.done()).isFalse();
  }

  @Test
  void aStartThatHangsIsGivenUp() {
    List<Duration> asked = new ArrayList<>();
    var timeout = new StartTimeout(asked::add);
    Duration passed = Duration.ZERO;
    while (!timeout.done()) {
      passed = passed.plus(timeout.round());
    }
    assertThat(passed)
        .isBetween(StartTimeout.LONGEST_START, StartTimeout.LONGEST_START.plusMinutes(1));
  }
}
