package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** From requests over assignments to what nodes run, in memory. */
class ClusterPlanTest {
  private static final String WEB =
      "  web: {image: {name: web}, scale: {mode: manual, replicas: 3}}\n";

  private final Simulation cluster = new Simulation();

  @BeforeEach
  void threeNodes() throws InterruptedException {
    cluster.node("a").node("b").node("c");
  }

  @Test
  void replicasSpreadWithNumbersThatAreUniqueInTheCluster() throws InterruptedException {
    cluster.up("shop", WEB);
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1 b:2 c:3");

    cluster.deployments.scale("shop", "web", 5);
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1,4 b:2,5 c:3");

    cluster.deployments.scale("shop", "web", 1);
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1");
  }

  @Test
  void aStoppedServiceHasNoReplicasUntilItIsStarted() throws InterruptedException {
    cluster.up("shop", WEB);
    cluster.deployments.stop("shop", Optional.of("web"));
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEmpty();

    cluster.deployments.start("shop", Optional.empty());
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1 b:2 c:3");
  }

  @Test
  void theReplicasOfALostNodeMoveAfterTheGraceAndTheSurplusEndsWhenItReturns()
      throws InterruptedException {
    cluster.up("shop", WEB);
    cluster.converge();
    cluster.lose("c");
    cluster.leader = cluster.leader("a", Duration.ofHours(1));
    cluster.converge();
    assertThat(cluster.deployments.state().assignments("shop")).containsKey("c");

    cluster.leader = cluster.leader("a", Duration.ZERO);
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1,3 b:2 c:3");

    cluster.revive("c");
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1,3 b:2");
  }

  /** Nothing in the store changes when the grace of a lost node ends. */
  @Test
  void theSameLeaderMovesReplicasWhenTheGraceEnds() throws InterruptedException {
    cluster.up("shop", WEB);
    cluster.leader = cluster.leader("a", Duration.ofMillis(300));
    cluster.converge();
    cluster.lose("c");
    cluster.round();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1 b:2 c:3");

    await()
        .atMost(Duration.ofSeconds(10))
        .untilAsserted(
            () -> {
              cluster.round();
              assertThat(cluster.where("shop", "web")).isEqualTo("a:1,3 b:2 c:3");
            });
  }

  @Test
  void aDrainedNodeIsEmptiedAndACordonedOneKeepsWhatItHas() throws InterruptedException {
    cluster.up("shop", WEB);
    cluster.converge();
    cluster.schedule("b", Status.CORDONED);
    cluster.schedule("c", Status.DRAINING);
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1,3 b:2");

    cluster.deployments.scale("shop", "web", 5);
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1,3,4,5 b:2");
  }

  /** Two nodes never replace at once what only one of them may be without. */
  @Test
  void anUpdateGoesNodeByNode() throws InterruptedException {
    cluster.up("shop", WEB);
    cluster.converge();
    cluster.engines.values().forEach(engine -> engine.ready = false);
    cluster.up("shop", WEB.replace("name: web", "name: web2"));
    cluster.engines.values().forEach(engine -> engine.ready = true);
    for (int i = 0; i < 3; i++) {
      cluster.engines.values().forEach(engine -> engine.ready = true);
      var _ = cluster.leader.round();
      long updated =
          cluster.deployments.state().assignments("shop").values().stream()
              .filter(one -> one.revision() == 2)
              .count();
      assertThat(updated).isEqualTo(i + 1);
      for (NodeShares node : cluster.nodes.values()) {
        var _ = node.round();
      }
    }
    cluster.converge();
    assertThat(cluster.engines.values())
        .allSatisfy(engine -> assertThat(engine.running.get("shop").revision()).isEqualTo(2));
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1 b:2 c:3");
  }

  @Test
  void whatDependsOnOthersBeginsAfterThem() throws InterruptedException {
    cluster.engines.values().forEach(engine -> engine.ready = false);
    cluster.up(
        "shop",
        "  db: {image: {name: db}, scale: {mode: fixed, replicas: 1}}\n"
            + "  web: {image: {name: web}, scale: {mode: fixed, replicas: 2}, depends: [db]}\n");
    cluster.converge();
    assertThat(cluster.where("shop", "db")).isEqualTo("a:1");
    assertThat(cluster.where("shop", "web")).isEmpty();

    cluster.engines.values().forEach(engine -> engine.ready = true);
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("b:1 c:2");
  }

  @Test
  void aRemovalWaitsForTheNodesAndTellsThemAboutVolumes() throws InterruptedException {
    cluster.up("shop", WEB);
    cluster.converge();
    cluster.deployments.down("shop", true);
    var _ = cluster.leader.round();
    assertThat(cluster.deployments.find("shop")).isPresent();
    assertThatThrownBy(() -> cluster.up("shop", WEB)).hasMessageContaining("is being removed");

    cluster.converge();
    assertThat(cluster.deployments.find("shop")).isEmpty();
    assertThat(cluster.deployments.files("shop")).isEmpty();
    assertThat(cluster.engines.values())
        .allSatisfy(engine -> assertThat(engine.removed).containsEntry("shop", true));
  }

  /** The leader has not seen that it was removed in between. */
  @Test
  void aDeploymentThatIsBegunAnewHasNothingOfTheEarlierOne() throws InterruptedException {
    cluster.up("shop", WEB);
    cluster.converge();
    cluster.deployments.down("shop", false);
    for (int i = 0; i < 10 && cluster.deployments.find("shop").isPresent(); i++) {
      cluster.round();
    }
    assertThat(cluster.deployments.find("shop")).isEmpty();
    cluster.now = cluster.now.plusSeconds(1);
    cluster.up("shop", WEB.replace("web:", "other:"));
    cluster.converge();
    assertThat(cluster.where("shop", "other")).isEqualTo("a:1 b:2 c:3");
    assertThat(cluster.where("shop", "web")).isEmpty();
  }

  @Test
  void aNodeThatRefusesIsNotAskedAgainForThatRevision() throws InterruptedException {
    cluster.engines.get("b").refuses.add("shop");
    cluster.up("shop", WEB);
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1,2 c:3");
  }

  @Test
  void whatFitsNowhereSaysWhyAndIsPlacedWhenItFits() throws InterruptedException {
    cluster.up(
        "shop",
        "  web: {image: {name: web}, scale: {mode: fixed, replicas: 1}, resources: {cpu: 64}}\n");
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEmpty();
    assertThat(cluster.deployments.state().unplaced().get("shop").get("web"))
        .contains("with less than 64 cpus free", "or add a node");

    cluster.up("shop", WEB);
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1 b:2 c:3");
    assertThat(cluster.deployments.state().unplaced()).isEmpty();
  }

  /** Also when the deployment was stopped meanwhile. */
  @Test
  void aVolumeStaysOnItsNode() throws InterruptedException {
    String db =
        "  db: {image: {name: db}, scale: {mode: manual, replicas: 1},"
            + " storage: [{type: named, name: data, target: /data}]}\n";
    cluster.up("shop", db);
    cluster.converge();
    assertThat(cluster.where("shop", "db")).isEqualTo("a:1");
    cluster.deployments.scale("shop", "db", 0);
    cluster.converge();
    cluster.up("load", WEB.replace("replicas: 3", "replicas: 1"));
    cluster.lose("a");
    cluster.leader = cluster.leader("b", Duration.ZERO);
    cluster.deployments.scale("shop", "db", 1);
    cluster.converge();

    assertThat(cluster.where("shop", "db")).isEmpty();
    assertThat(cluster.deployments.state().unplaced().get("shop").get("db"))
        .contains("volume 'data' is on node a");
    cluster.revive("a");
    cluster.converge();
    assertThat(cluster.where("shop", "db")).isEqualTo("a:1");
  }

  @Test
  void onlyTheLeaderAssigns() throws InterruptedException {
    cluster.up("shop", WEB);
    var _ = cluster.leader.round();
    Leader other = cluster.leader("b", Duration.ZERO);
    cluster.deployments.scale("shop", "web", 6);
    long before = cluster.store.list(StoreKeys.ALL, Simulation.limit()).revision();
    var _ = other.round();
    assertThat(cluster.store.list(StoreKeys.ALL, Simulation.limit()).revision()).isEqualTo(before);

    cluster.lose("a");
    var _ = other.round();
    assertThat(cluster.deployments.state().assignments("shop")).hasSizeGreaterThan(1);
    assertThat(cluster.store.find(StoreKeys.LEADER, Simulation.limit()).orElseThrow().value())
        .isEqualTo("b");
  }

  @Test
  void revisionsAreKeptAndRolledBackTo() throws InterruptedException {
    for (int i = 1; i <= 12; i++) {
      cluster.up("shop", WEB.replace("name: web", "name: web" + i));
      cluster.converge();
    }
    assertThat(cluster.deployments.files("shop")).hasSize(10);
    var _ = cluster.deployments.rollback("shop", Optional.empty());
    assertThat(cluster.deployments.files("shop").getLast().text()).contains("name: web11");
    assertThatThrownBy(() -> cluster.deployments.rollback("shop", Optional.of(1L)))
        .isInstanceOf(AgentException.NotFound.class);
    assertThatThrownBy(() -> cluster.deployments.scale("shop", "web", 2000))
        .hasMessageContaining("not between 0 and 1000");
  }

  @Test
  void whatAClusterCannotDoIsRefusedWithItsPath() {
    assertThatThrownBy(
            () ->
                cluster.up(
                    "shop",
                    "  web: {image: {name: web}, pid_mode: 'container:x', affinity: pack}\n"
                        + "  job: {image: {name: job}, rtype: job, job: {warm: 1}}\n"))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("services.web.pid_mode: the other container may be on another node")
        .hasMessageContaining("services.job.job.warm: containers would be created ahead")
        .hasMessageNotContaining("affinity");
  }

  @Test
  void aReleasedVolumeIsBoundWhereItIsUsedNext() throws InterruptedException {
    String db =
        "  db:\n    image: {name: db}\n    affinity: {pin: id=NODE}\n"
            + "    storage: [{type: named, name: data, target: /data}]\n";
    cluster.up("shop", db.replace("NODE", "a"));
    cluster.converge();
    assertThat(cluster.deployments.state().volumes()).containsEntry("data", "a");
    var here = new VolumeBindings(cluster.store, "a");
    var elsewhere = new VolumeBindings(cluster.store, "b");
    assertThatThrownBy(() -> here.requireUnused("data"))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("'shop/db'");
    elsewhere.requireUnused("data");
    assertThat(elsewhere.release("data")).isFalse();

    assertThat(here.release("data")).isTrue();
    cluster.converge();
    assertThat(cluster.deployments.state().volumes()).as("in use").containsEntry("data", "a");

    cluster.deployments.stop("shop", Optional.of("db"));
    cluster.converge();
    here.requireUnused("data");
    assertThat(here.wanted("data")).isTrue();
    assertThat(elsewhere.wanted("data")).isFalse();
    assertThat(here.release("data")).isTrue();
    assertThat(here.release("data")).isFalse();
    cluster.converge();
    assertThat(cluster.deployments.state().volumes()).isEmpty();

    cluster.up("shop", db.replace("NODE", "b"));
    cluster.deployments.start("shop", Optional.empty());
    cluster.converge();
    assertThat(cluster.where("shop", "db")).isEqualTo("b:1");
    assertThat(cluster.deployments.state().volumes()).containsEntry("data", "b");
  }
}
