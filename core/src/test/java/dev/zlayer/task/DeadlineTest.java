package dev.zlayer.task;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class DeadlineTest {
  /** Near the wrap-around of nanoTime, where naive comparisons break. */
  private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5);

  @Test
  void countsDownAndPasses() {
    Deadline deadline = Deadline.after(Duration.ofSeconds(10), clock::get);

    clock.addAndGet(Duration.ofSeconds(4).toNanos());
    assertThat(deadline.left()).isEqualTo(Duration.ofSeconds(6));
    assertThat(deadline.passed()).isFalse();

    clock.addAndGet(Duration.ofSeconds(6).toNanos());
    assertThat(deadline.passed()).isTrue();
    assertThatThrownBy(() -> deadline.check("pulling"))
        .isInstanceOf(AgentException.Timeout.class)
        .hasMessage("timed out after 10s while pulling");
  }

  @Test
  void noneNeverPasses() {
    assertThat(Deadline.none().never()).isTrue();
    assertThat(Deadline.none().passed()).isFalse();
    assertThat(Deadline.after(Duration.ofSeconds(Long.MAX_VALUE)).never()).isTrue();
    assertThatCode(() -> Deadline.none().check("waiting")).doesNotThrowAnyException();
  }

  @Test
  void atMostTakesTheEarlierOne() {
    Deadline outer = Deadline.after(Duration.ofSeconds(10), clock::get);

    assertThat(outer.atMost(Duration.ofSeconds(3)).left()).isEqualTo(Duration.ofSeconds(3));
    assertThat(outer.atMost(Duration.ofSeconds(30))).isSameAs(outer);
    assertThat(Deadline.none().atMost(Duration.ofHours(1)).left())
        .isLessThanOrEqualTo(Duration.ofHours(1));
  }
}
