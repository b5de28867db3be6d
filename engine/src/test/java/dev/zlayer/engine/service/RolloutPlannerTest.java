package dev.zlayer.engine.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.service.RolloutPlanner.Served;
import dev.zlayer.engine.service.RolloutPlanner.Stage;
import dev.zlayer.engine.service.RolloutPlanner.Verdict;
import dev.zlayer.engine.service.RolloutPlanner.Weights;
import dev.zlayer.spec.service.UpdateSpec;
import dev.zlayer.spec.value.Percentage;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class RolloutPlannerTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final UpdateSpec CANARY = update(UpdateSpec.Strategy.CANARY, "5%", "50%");
  private static final Stage WATCHED = new Stage(5, 1, true);

  private static UpdateSpec update(UpdateSpec.Strategy strategy, String... steps) {
    return new UpdateSpec(
        strategy,
        Optional.empty(),
        Optional.empty(),
        true,
        Duration.ofSeconds(5),
        Optional.empty(),
        Optional.of(Stream.of(steps).map(Percentage::parse).toList()),
        Optional.of(Percentage.parse("2%")),
        Optional.of(Duration.ofSeconds(10)));
  }

  @Test
  void aCanaryStartsAsManyReplicasAsItsShareNeedsBeforeItGetsRequests() {
    assertThat(RolloutPlanner.stages(CANARY, 4))
        .containsExactly(
            new Stage(0, 1, false),
            new Stage(5, 1, true),
            new Stage(5, 2, false),
            new Stage(50, 2, true),
            new Stage(50, 4, false),
            new Stage(100, 4, true));
    assertThat(RolloutPlanner.stages(update(UpdateSpec.Strategy.CANARY), 1))
        .as("the usual steps")
        .extracting(Stage::percent)
        .containsExactly(0.0, 5.0, 5.0, 50.0, 50.0, 100.0);
  }

  @Test
  void blueGreenStartsAllAndThenSwitches() {
    assertThat(RolloutPlanner.stages(update(UpdateSpec.Strategy.BLUE_GREEN), 3))
        .containsExactly(new Stage(0, 3, false), new Stage(100, 3, true));
  }

  @Test
  void weightsGiveTheSetsTheirShares() {
    assertThat(RolloutPlanner.weights(5, 1, 4)).isEqualTo(new Weights(54, 256));
    assertThat(RolloutPlanner.weights(50, 1, 1)).isEqualTo(new Weights(256, 256));
    assertThat(RolloutPlanner.weights(0, 2, 2)).isEqualTo(new Weights(0, 256));
    assertThat(RolloutPlanner.weights(100, 2, 2)).isEqualTo(new Weights(256, 0));
    assertThat(RolloutPlanner.weights(0, 2, 0)).as("nobody else serves").isEqualTo(Weights.EQUAL);
    for (double percent : List.of(0.5, 1.0, 5.0, 33.0, 50.0, 95.0)) {
      for (int fresh = 1; fresh <= 10; fresh++) {
        for (int old = 1; old <= 10; old++) {
          Weights weights = RolloutPlanner.weights(percent, fresh, old);
          double share =
              100.0
                  * weights.fresh()
                  * fresh
                  / (weights.fresh() * fresh + weights.old() * (double) old);
          assertThat(weights.fresh()).isBetween(1, 256);
          assertThat(weights.old()).isBetween(1, 256);
          assertThat(Math.abs(share - percent))
              .as("%s of %d beside %d", percent, fresh, old)
              .isLessThan(3.5);
        }
      }
    }
  }

  private static Verdict judge(Stage stage, int ready, Served fresh, double oldRate, int seconds) {
    return RolloutPlanner.judge(
        CANARY, stage, ready, Optional.of(NOW), fresh, oldRate, NOW.plusSeconds(seconds));
  }

  @Test
  void aStageLastsUntilItsReplicasAreReadyOrItsTimeIsOver() {
    Stage prepared = new Stage(0, 2, false);
    assertThat(judge(prepared, 1, Served.NONE, 0, 60)).isEqualTo(Verdict.WAIT);
    assertThat(judge(prepared, 2, Served.NONE, 0, 0)).isEqualTo(Verdict.NEXT);
    assertThat(judge(WATCHED, 1, new Served(100, 0), 0, 9)).isEqualTo(Verdict.WAIT);
    assertThat(judge(WATCHED, 0, new Served(100, 0), 0, 11)).isEqualTo(Verdict.WAIT);
    assertThat(judge(WATCHED, 1, new Served(100, 0), 0, 10)).isEqualTo(Verdict.NEXT);
    assertThat(
            RolloutPlanner.judge(
                CANARY, WATCHED, 1, Optional.empty(), Served.NONE, 0, NOW.plusSeconds(60)))
        .as("it has not been seen yet")
        .isEqualTo(Verdict.WAIT);
  }

  @Test
  void newReplicasThatFailMoreOftenThanOldOnesAreTakenBack() {
    assertThat(judge(WATCHED, 1, new Served(100, 3), 0, 1)).isEqualTo(Verdict.BACK);
    assertThat(judge(WATCHED, 1, new Served(3, 3), 0, 1)).isEqualTo(Verdict.BACK);
    assertThat(judge(WATCHED, 1, new Served(2, 2), 0, 1)).as("chance").isEqualTo(Verdict.WAIT);
    assertThat(judge(WATCHED, 1, new Served(100, 2), 0, 1)).isEqualTo(Verdict.WAIT);
    assertThat(judge(WATCHED, 1, new Served(100, 11), 10, 1))
        .as("the old ones fail as well")
        .isEqualTo(Verdict.WAIT);
    assertThat(RolloutPlanner.reason(CANARY, WATCHED, new Served(40, 10), 1.25))
        .isEqualTo(
            "10 of 40 requests to the new replicas failed (25.0%; 1.3% of those to the old ones)"
                + " with 5% of the requests; max_error_rate is 2%");
  }
}
