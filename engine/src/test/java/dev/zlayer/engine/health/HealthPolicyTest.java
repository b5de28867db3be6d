package dev.zlayer.engine.health;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.spec.service.HealthCheck;
import dev.zlayer.spec.service.HealthSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class HealthPolicyTest {
  private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");
  private static final HealthSpec SPEC =
      new HealthSpec(
          new HealthCheck.Tcp(80),
          Duration.ofSeconds(5),
          Duration.ofSeconds(10),
          Duration.ofSeconds(1),
          3,
          HealthSpec.OnUnhealthy.RESTART);

  private static HealthStatus after(HealthStatus before, boolean success, Instant now) {
    return HealthPolicy.after(before, new ProbeResult(success, "said"), SPEC, START, now);
  }

  @Test
  void checksAtOnceThenInGrowingPausesUntilTheFirstSuccess() {
    HealthStatus status = HealthStatus.starting(START);
    Instant now = START;
    var pauses = new java.util.ArrayList<Duration>();
    for (int i = 0; i < 10; i++) {
      assertThat(status.next()).isEqualTo(now);
      status = after(status, false, now);
      pauses.add(Duration.between(now, status.next()));
      now = status.next();
      if (Duration.between(START, now).compareTo(SPEC.startGrace()) > 0) {
        break;
      }
    }
    assertThat(pauses).startsWith(Duration.ofMillis(50), Duration.ofMillis(100)).isSorted();
    assertThat(status.state()).as("the grace").isEqualTo(HealthState.STARTING);

    status = after(status, true, now);
    assertThat(status.state()).isEqualTo(HealthState.HEALTHY);
    assertThat(status.next()).isEqualTo(now.plusSeconds(10));
  }

  @Test
  void theLastChecksAreKeptThoseInARowWithTheSameResultAsOne() {
    HealthStatus status = HealthStatus.starting(START);
    for (int second = 0; second < 5; second++) {
      status = after(status, false, START.plusSeconds(second));
    }
    status = after(status, true, START.plusSeconds(5));

    assertThat(status.history())
        .containsExactly(
            new HealthStatus.Run(false, "said", 5, START, START.plusSeconds(4)),
            new HealthStatus.Run(true, "said", 1, START.plusSeconds(5), START.plusSeconds(5)));
    for (int second = 6; second < 60; second++) {
      status = after(status, second % 2 == 0, START.plusSeconds(second));
    }
    assertThat(status.history()).hasSize(10);
    assertThat(status.history().getLast().last()).isEqualTo(START.plusSeconds(59));
  }

  @Test
  void onlyARowOfFailuresMakesItUnhealthy() {
    Instant now = START.plusSeconds(60);
    HealthStatus status = after(HealthStatus.starting(START), true, now);
    status = after(after(status, false, now), false, now);
    assertThat(status.state()).isEqualTo(HealthState.HEALTHY);
    assertThat(status.streak()).isEqualTo(2);
    status = after(status, true, now);
    status = after(after(after(status, false, now), false, now), false, now);

    assertThat(status.state()).isEqualTo(HealthState.UNHEALTHY);
    assertThat(status.output()).isEqualTo("said");
    assertThat(after(status, true, now).state()).isEqualTo(HealthState.HEALTHY);
  }

  @Test
  void failuresInTheGraceDoNotCountUntilItOnceWorked() {
    Instant early = START.plusSeconds(1);
    HealthStatus status = HealthStatus.starting(START);
    for (int i = 0; i < 20; i++) {
      status = after(status, false, early);
    }
    assertThat(status.state()).isEqualTo(HealthState.STARTING);

    status = after(status, true, early);
    for (int i = 0; i < 3; i++) {
      status = after(status, false, early);
    }
    assertThat(status.state()).isEqualTo(HealthState.UNHEALTHY);
  }

  @Test
  void withoutAWordAboutHealthASlowStartGetsMoreTime() {
    assertThat(HealthPolicy.of(Optional.empty()).startGrace()).isGreaterThan(SPEC.startGrace());
    assertThat(HealthPolicy.of(Optional.of(SPEC))).isEqualTo(SPEC);
  }

  @Test
  void checksOfReplicasThatWorkAreMadeTogether() {
    var times = new java.util.TreeSet<Instant>();
    for (int replica = 0; replica < 1000; replica++) {
      HealthStatus status =
          after(HealthStatus.starting(START), true, START.plusMillis(replica * 10L));
      Instant next = HealthPolicy.next(status, SPEC, 77);
      assertThat(next).isBetween(status.next(), status.next().plusSeconds(1));
      times.add(next);
    }

    assertThat(times).as("ten seconds, one round each").hasSizeLessThanOrEqualTo(11);
  }

  @Test
  void checksOfReplicasThatDoNotWorkWaitForNobody() {
    Instant now = START.plusMillis(123);
    HealthStatus starting = after(HealthStatus.starting(START), false, now);
    HealthStatus failing = after(after(starting, true, now), false, now);

    assertThat(HealthPolicy.next(starting, SPEC, 0)).isEqualTo(starting.next());
    assertThat(HealthPolicy.next(failing, SPEC, 0)).isEqualTo(failing.next());
  }
}
