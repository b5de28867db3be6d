package dev.zlayer.scale;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.spec.service.ScaleSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import org.junit.jupiter.api.Test;

class AutoscalerTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final ScaleSpec.Adaptive SPEC =
      new ScaleSpec.Adaptive(
          1,
          5,
          Duration.ofSeconds(30),
          new ScaleSpec.Targets(Optional.of(50.0), Optional.empty(), Optional.empty()),
          Optional.empty());

  private static Autoscaler.Load cpu(double percent) {
    return new Autoscaler.Load(
        OptionalDouble.of(percent), OptionalDouble.empty(), OptionalDouble.empty());
  }

  @Test
  void growsOneByOneUnderLoadAndRestsBetween() {
    var first = Autoscaler.decide(SPEC, 2, Autoscaler.Memory.NONE, cpu(90), NOW);
    assertThat(first.replicas()).isEqualTo(3);
    var soon = Autoscaler.decide(SPEC, 3, first.memory(), cpu(90), NOW.plusSeconds(10));
    assertThat(soon.replicas()).as("it cools down").isEqualTo(3);
    var later = Autoscaler.decide(SPEC, 3, soon.memory(), cpu(90), NOW.plusSeconds(30));
    assertThat(later.replicas()).isEqualTo(4);
  }

  @Test
  void followsRequestsPerSecondOfAReplica() {
    var spec =
        new ScaleSpec.Adaptive(
            0,
            3,
            Duration.ofSeconds(30),
            new ScaleSpec.Targets(Optional.empty(), Optional.empty(), Optional.of(100.0)),
            Optional.empty());

    assertThat(Autoscaler.decide(spec, 1, Autoscaler.Memory.NONE, requests(100), NOW).replicas())
        .isEqualTo(2);
    assertThat(Autoscaler.decide(spec, 3, Autoscaler.Memory.NONE, requests(500), NOW).replicas())
        .as("max")
        .isEqualTo(3);
    assertThat(Autoscaler.decide(spec, 2, Autoscaler.Memory.NONE, requests(45), NOW).replicas())
        .as("one would have 90")
        .isEqualTo(2);
    assertThat(Autoscaler.decide(spec, 2, Autoscaler.Memory.NONE, requests(10), NOW).replicas())
        .isEqualTo(1);
    assertThat(Autoscaler.decide(spec, 1, Autoscaler.Memory.NONE, requests(0), NOW).replicas())
        .as("having none is a matter of time without requests")
        .isEqualTo(1);
  }

  private static Autoscaler.Load requests(double rate) {
    return new Autoscaler.Load(
        OptionalDouble.empty(), OptionalDouble.empty(), OptionalDouble.of(rate));
  }

  @Test
  void oneHighReadingIsNotALoad() {
    var calm = Autoscaler.decide(SPEC, 2, Autoscaler.Memory.NONE, cpu(30), NOW);
    var peak = Autoscaler.decide(SPEC, 2, calm.memory(), cpu(80), NOW.plusSeconds(10));

    assertThat(peak.replicas()).isEqualTo(2);
  }

  @Test
  void shrinksOnlyWhenFewerCouldBearIt() {
    assertThat(Autoscaler.decide(SPEC, 2, Autoscaler.Memory.NONE, cpu(30), NOW).replicas())
        .as("one would have 60 percent")
        .isEqualTo(2);
    assertThat(Autoscaler.decide(SPEC, 2, Autoscaler.Memory.NONE, cpu(5), NOW).replicas())
        .isEqualTo(1);
  }

  @Test
  void staysWithinItsBoundsAndDoesNotSwingUnderASteadyLoad() {
    var random = new Random(7);
    for (int round = 0; round < 200; round++) {
      double work = random.nextDouble() * 400;
      int replicas = 1 + random.nextInt(5);
      var memory = Autoscaler.Memory.NONE;
      Instant now = NOW;
      int changes = 0;
      for (int step = 0; step < 200; step++) {
        now = now.plusSeconds(10);
        var decision = Autoscaler.decide(SPEC, replicas, memory, cpu(work / replicas), now);
        assertThat(decision.replicas()).isBetween(1, 5);
        changes = step >= 100 && decision.replicas() != replicas ? changes + 1 : changes;
        replicas = decision.replicas();
        memory = decision.memory();
      }
      assertThat(changes).as("work %s", work).isZero();
    }
  }
}
