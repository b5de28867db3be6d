package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Numbers of replicas that follow the load of all nodes, in memory. */
class ScalingTest {
  private static final String WEB =
      "  web: {image: {name: web}, scale: {mode: adaptive, min: 1, max: 3, cooldown: 30s,"
          + " targets: {cpu: 50}}}\n";

  private final Simulation cluster = new Simulation();

  @BeforeEach
  void threeNodes() throws InterruptedException {
    cluster.node("a").node("b").node("c");
    cluster.up("shop", WEB);
    cluster.converge();
  }

  private void load(double percent) {
    cluster
        .engines
        .values()
        .forEach(
            engine ->
                engine.load =
                    Optional.of(
                        Desired.Load.of(OptionalDouble.of(percent), OptionalDouble.empty())));
  }

  private void pass(int seconds) throws InterruptedException {
    for (int i = 0; i < seconds; i += 10) {
      cluster.now = cluster.now.plus(Duration.ofSeconds(10));
      cluster.converge();
    }
  }

  @Test
  void replicasComeAndEndWithTheLoad() throws InterruptedException {
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1");
    load(90);
    pass(20);
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1 b:2");
    pass(10);
    assertThat(cluster.where("shop", "web")).as("it cools down").isEqualTo("a:1 b:2");
    pass(60);
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1 b:2 c:3");
    pass(60);
    assertThat(cluster.where("shop", "web")).as("no more than max").isEqualTo("a:1 b:2 c:3");

    cluster.lose("a");
    cluster.leader = cluster.leader("b", Duration.ZERO);
    load(2);
    pass(300);
    assertThat(cluster.state().ready("shop", "web")).isEqualTo(1);
  }

  @Test
  void whatHasNoRoomIsNotAskedForMoreAndIsTakenBack() throws InterruptedException {
    cluster.up("shop", WEB.replace("image:", "node_mode: dedicated, image:"));
    cluster.lose("c");
    cluster.lose("b");
    cluster.leader = cluster.leader("a", Duration.ZERO);
    load(90);
    pass(120);
    assertThat(cluster.state().desired().get("shop").scale()).containsEntry("web", 2);
    assertThat(cluster.state().ready("shop", "web")).isEqualTo(1);
    load(2);
    pass(120);
    assertThat(cluster.state().desired().get("shop").scale()).containsEntry("web", 1);
  }

  /** A reading that is nearly the same is not written. */
  @Test
  void loadIsReportedInSteps() {
    assertThat(Desired.Load.of(OptionalDouble.of(51.9), OptionalDouble.of(53)))
        .isEqualTo(new Desired.Load(Optional.of(50), Optional.of(55)));
  }

  @Test
  void whatIsNotCountedOverNodesIsRefused() {
    assertThatThrownBy(
            () ->
                cluster.up(
                    "other",
                    WEB.replace("cpu: 50", "rps: 5")
                            .replace("min: 1", "min: 0")
                            .replace("}}}", "}},")
                        + "    endpoints: [{name: web, protocol: http, port: 80, host: a.example,"
                        + " hold: 10s}]}\n"))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("services.web.scale.targets.rps: requests are not counted")
        .hasMessageContaining("services.web.scale.min");
  }
}
