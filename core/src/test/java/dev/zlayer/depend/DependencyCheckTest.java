package dev.zlayer.depend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.depend.DependencyCheck.Verdict;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.service.DependsSpec;
import dev.zlayer.spec.service.DependsSpec.Condition;
import dev.zlayer.spec.service.DependsSpec.OnTimeout;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class DependencyCheckTest {
  private static final Instant SINCE = Instant.parse("2026-01-01T00:00:00Z");

  private static DependsSpec on(String name, Condition condition, OnTimeout onTimeout) {
    return new DependsSpec(name, condition, Duration.ofSeconds(10), onTimeout);
  }

  private static Verdict judge(DependsSpec depends, DependencyStatus signal, int seconds) {
    return DependencyCheck.judge(
        "web", List.of(depends), Map.of("db", signal), 5, SINCE, SINCE.plusSeconds(seconds));
  }

  private static final DependsSpec HEALTHY = on("db", Condition.HEALTHY, OnTimeout.FAIL);

  private static DependencyStatus healthy(long revision) {
    return new DependencyStatus(
        revision, true, true, false, false, Optional.empty(), 5, Optional.empty(), false);
  }

  @Test
  void opensWhenTheConditionIsMetByTheWantedRevision() {
    assertThat(judge(HEALTHY, healthy(5), 0)).isEqualTo(new Verdict.Open(List.of()));
    assertThat(judge(HEALTHY, healthy(4), 0))
        .isEqualTo(new Verdict.Waiting("db to be healthy", SINCE.plusSeconds(10)));
    assertThat(judge(on("db", Condition.READY, OnTimeout.FAIL), healthy(5), 0))
        .isInstanceOf(Verdict.Waiting.class);
  }

  @Test
  void closesAtOnceWhenTheOtherFailedAndSaysWhy() {
    assertThat(judge(HEALTHY, DependencyStatus.failed(5, "no disk"), 0))
        .isInstanceOfSatisfying(
            Verdict.Closed.class,
            closed ->
                assertThat(closed.reason())
                    .hasMessageContaining("'db'")
                    .hasMessageContaining("no disk"));
  }

  @Test
  void aRevisionThatWasTakenBackWillNotBeReached() {
    var back =
        new DependencyStatus(
            4, true, true, true, false, Optional.empty(), 5, Optional.of("rolled back"), false);

    assertThat(judge(HEALTHY, back, 0)).isInstanceOf(Verdict.Closed.class);
  }

  @Test
  void afterTheTimeTheFileDecides() {
    DependencyStatus nothing = DependencyStatus.nothing(5);
    assertThat(judge(HEALTHY, nothing, 10))
        .isInstanceOfSatisfying(
            Verdict.Closed.class,
            closed ->
                assertThat(closed.reason()).isInstanceOf(AgentException.DependencyTimeout.class));
    assertThat(judge(on("db", Condition.HEALTHY, OnTimeout.WARN), nothing, 10))
        .isInstanceOfSatisfying(Verdict.Open.class, open -> assertThat(open.warnings()).hasSize(1));
    assertThat(judge(on("db", Condition.HEALTHY, OnTimeout.CONTINUE), nothing, 10))
        .isEqualTo(new Verdict.Open(List.of()));
  }
}
