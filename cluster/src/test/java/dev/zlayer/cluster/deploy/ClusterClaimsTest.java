package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cluster.deploy.ClusterExecution.Progress;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the leader does with claims; nobody here makes them but the test. */
class ClusterClaimsTest {
  private static final String DB =
      "  db: {image: {name: db}, single_instance: true, scale: {mode: manual}}\n";
  private static final String NIGHTLY =
      "  nightly: {rtype: cron, schedule: '0 * * * *', image: {name: r}, job: {concurrency: 5}}\n";

  private final Simulation cluster = new Simulation();

  @BeforeEach
  void twoNodes() throws InterruptedException {
    cluster.node("a").node("b");
  }

  @Test
  void aSingleInstanceOfALostNodeIsPlacedWhenItsClaimIsRemoved() throws InterruptedException {
    cluster.up("shop", DB);
    cluster.converge();
    assertThat(cluster.where("shop", "db")).isEqualTo("a:1");
    claim("shop/db", "a");
    cluster.lose("a");
    cluster.leader = cluster.leader("b", Duration.ZERO);
    cluster.converge();
    assertThat(cluster.where("shop", "db")).isEqualTo("a:1");
    assertThat(cluster.deployments.state().unplaced().get("shop").get("db"))
        .contains("single instance", "may still run on node a");

    unclaim("shop/db");
    cluster.converge();
    assertThat(cluster.where("shop", "db")).isEqualTo("a:1 b:1");
    assertThat(cluster.deployments.state().unplaced()).isEmpty();
  }

  @Test
  void oneThatIsNotStoppedYetStartsNowhereElse() throws InterruptedException {
    cluster.up("shop", DB);
    cluster.converge();
    claim("shop/db", "a");
    cluster.deployments.scale("shop", "db", 0);
    cluster.converge();
    assertThat(cluster.where("shop", "db")).isEmpty();
    cluster.schedule("a", Status.CORDONED);
    cluster.deployments.scale("shop", "db", 1);
    cluster.converge();
    assertThat(cluster.where("shop", "db")).isEmpty();
    unclaim("shop/db");
    cluster.converge();
    assertThat(cluster.where("shop", "db")).isEqualTo("b:1");
  }

  @Test
  void itHasOneReplicaAtMost() throws InterruptedException {
    cluster.up("shop", DB);
    assertThatThrownBy(() -> cluster.deployments.scale("shop", "db", 2))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("single_instance: true");
  }

  @Test
  void aRunOnALostNodeEndsWhenItsClaimIsRemovedAndBlocksTheNextUntilThen()
      throws InterruptedException {
    for (String id : List.of("a", "b")) {
      cluster.runJobs(id, new Running());
    }
    cluster.up("shop", NIGHTLY);
    cluster.converge();
    for (int i = 0; i < 2; i++) {
      var _ = cluster.jobs.trigger("shop", "nightly", request());
    }
    cluster.converge();
    List<ClusterExecution> both = cluster.state().executions("shop", "nightly");
    assertThat(both).hasSize(2);
    assertThat(both.getLast().node()).as("one at a time").isEmpty();
    String node = both.getFirst().node().orElseThrow();
    String other = node.equals("a") ? "b" : "a";
    claim("shop/nightly", node);
    cluster.lose(node);
    cluster.leader = cluster.leader(other, Duration.ZERO);
    cluster.converge();
    assertThat(cluster.state().executions("shop", "nightly")).isEqualTo(both);

    unclaim("shop/nightly");
    cluster.converge();
    assertThat(cluster.state().executions("shop", "nightly"))
        .singleElement()
        .satisfies(one -> assertThat(one.node()).contains(other));
  }

  /** Executions that never end. */
  private static final class Running implements NodeJobs.Engine {
    private final Set<String> live = new TreeSet<>();

    @Override
    public Optional<Progress> find(String id) {
      return live.contains(id)
          ? Optional.of(
              new Progress(
                  "running",
                  Optional.empty(),
                  Optional.empty(),
                  1,
                  Optional.of(Simulation.NOW),
                  Optional.empty()))
          : Optional.empty();
    }

    @Override
    public void start(ClusterExecution execution) {
      live.add(execution.id());
    }

    @Override
    public void cancel(String id) {
      live.remove(id);
    }

    @Override
    public Set<String> live() {
      return live;
    }
  }

  private static ClusterExecution.Request request() {
    return ClusterExecution.Request.scheduled(Simulation.NOW, 0);
  }

  private void claim(String name, String node) {
    change(new Change.Put(StoreKeys.CLAIMS + name, new ClusterClaim(node, 20).json()));
  }

  private void unclaim(String name) {
    change(new Change.Delete(StoreKeys.CLAIMS + name));
  }

  private void change(Change change) {
    var _ = cluster.store.transact(List.of(), List.of(change), Simulation.limit());
  }
}
