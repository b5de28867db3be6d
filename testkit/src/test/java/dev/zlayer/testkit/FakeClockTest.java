package dev.zlayer.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;

class FakeClockTest {
  private final FakeClock clock = new FakeClock();

  @Test
  void bothClocksMoveTogetherAndOnlyWhenTold() {
    assertThat(clock.instant()).isEqualTo(FakeClock.START).isEqualTo(clock.instant());
    clock.advance(Duration.ofSeconds(3));
    assertThat(clock.instant()).isEqualTo(FakeClock.START.plusSeconds(3));
    assertThat(clock.nanoClock().getAsLong()).isEqualTo(3_000_000_000L);
    assertThatThrownBy(() -> clock.advance(Duration.ofNanos(-1)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void theWallClockCanBeSetBackAlone() {
    clock.advance(Duration.ofSeconds(3));
    clock.set(Duration.ofHours(-1));
    assertThat(clock.instant()).isEqualTo(FakeClock.START.plusSeconds(3 - 3600));
    assertThat(clock.nanoTime()).isEqualTo(3_000_000_000L);
  }

  @Test
  void deadlinesPassWithIt() {
    var deadline = clock.deadline(Duration.ofMinutes(1));
    clock.advance(Duration.ofSeconds(59));
    assertThat(deadline.left()).isEqualTo(Duration.ofSeconds(1));
    clock.advance(Duration.ofSeconds(1));
    assertThat(deadline.passed()).isTrue();
  }

  @Test
  void listenersSeeTheNewTime() {
    var seen = new ArrayList<Instant>();
    clock.onAdvance(() -> seen.add(clock.instant()));
    clock.advance(Duration.ofHours(1));
    assertThat(seen).containsExactly(FakeClock.START.plusSeconds(3600));
  }
}
