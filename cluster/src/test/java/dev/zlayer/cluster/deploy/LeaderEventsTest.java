package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.deploy.ClusterEventLog.Happened;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.json.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What leaders write about the cluster: each thing once, whoever leads. */
class LeaderEventsTest {
  private static final String WEB =
      "  web:\n    image: {name: a:1}\n    scale: {mode: fixed, replicas: 3}\n";
  private static final String REPORT =
      "  report:\n    rtype: job\n    image: {name: a:1}\n    job: {retries: 1}\n";

  private final Simulation cluster = new Simulation();

  @BeforeEach
  void threeNodes() throws InterruptedException {
    cluster.node("a").node("b").node("c");
  }

  private List<Happened> events() throws InterruptedException {
    return new ClusterEventLog(cluster.store).after(0).events();
  }

  private List<String> lines() throws InterruptedException {
    return events().stream().map(one -> one.kind() + " " + one.subject()).toList();
  }

  private void leadBy(String node) {
    cluster.leader = cluster.leader(node, Duration.ZERO);
  }

  @Test
  void leadersAndNodesAreWrittenOnceWhoeverLeads() throws InterruptedException {
    cluster.converge();
    leadBy("a"); // its agent was started again
    cluster.converge();
    assertThat(lines()).containsExactly("cluster.leader_changed node-a");

    cluster.lose("a");
    leadBy("b");
    cluster.converge();
    cluster.revive("a");
    cluster.schedule("c", Status.DRAINING);
    cluster.converge();
    cluster.node("d");
    cluster.converge();
    cluster.store.transact(
        List.of(),
        List.of(new dev.zlayer.cluster.store.ClusterStore.Change.Delete(StoreKeys.member("d"))),
        Simulation.limit());
    cluster.converge();

    assertThat(lines().subList(1, lines().size()))
        .containsExactly(
            "cluster.leader_changed node-b",
            "node.lost node-a",
            "node.ready node-a",
            "node.draining node-c",
            "node.joined node-d",
            "node.removed node-d");
    assertThat(events().get(1).facts().at("before").string()).contains("node-a");
    assertThat(events().stream().map(Happened::sequence)).doesNotHaveDuplicates().isSorted();
  }

  @Test
  void aReplicaThatGetsAnotherNodeHasMoved() throws InterruptedException {
    cluster.up("shop", WEB);
    cluster.converge();
    cluster.deployments.scale("shop", "web", 3);
    cluster.converge();
    assertThat(lines()).noneMatch(line -> line.startsWith("replica."));

    cluster.lose("c");
    cluster.converge();
    cluster.schedule("b", Status.DRAINING);
    cluster.converge();

    List<Happened> moved =
        events().stream().filter(one -> one.kind().equals("replica.moved")).toList();
    assertThat(moved.stream().map(Happened::subject)).containsExactly("shop/web/3", "shop/web/2");
    Json facts = moved.getFirst().facts();
    assertThat(facts.at("from").string()).contains("node-c");
    assertThat(facts.at("to").string()).contains("node-a");
    assertThat(facts.at("reason").string()).contains("node lost");
    assertThat(moved.getLast().facts().at("reason").string()).contains("node drained");
    assertThat(ClusterEventLog.about(moved.getFirst(), Optional.of("shop"))).isTrue();
    assertThat(ClusterEventLog.about(moved.getFirst(), Optional.of("sho"))).isFalse();
    assertThat(ClusterEventLog.about(events().getFirst(), Optional.of("shop"))).isFalse();
  }

  @Test
  void anExecutionThatIsLostWithItsNodeIsWritten() throws InterruptedException {
    cluster.up("shop", REPORT);
    cluster.converge();
    ClusterExecution one =
        cluster.jobs.trigger(
            "shop",
            "report",
            new ClusterExecution.Request(
                "cli",
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                java.util.Map.of(),
                Optional.empty(),
                0,
                Optional.empty()));
    cluster.converge();
    String first = cluster.deployments.state().executions().get(one.key()).node().orElseThrow();
    leadBy(first.equals("a") ? "b" : "a");
    cluster.lose(first);
    cluster.converge();

    Happened lost =
        events().stream()
            .filter(event -> event.kind().equals("job.lost"))
            .findFirst()
            .orElseThrow();
    assertThat(lost.subject()).isEqualTo("shop/report/1");
    assertThat(lost.facts().at("lost_with").string()).contains("node-" + first);
    assertThat(lost.facts().at("retried").bool()).contains(true);
  }

  @Test
  void onlyTheNewestAreKeptAndReadersAreGivenEachOnce() throws Exception {
    var log = new ClusterEventLog(cluster.store);
    var seen = new ArrayList<Long>();
    var ended = new InterruptedException("enough");
    cluster.converge();
    for (int i = 0; i < 600; i++) {
      cluster.schedule("b", i % 2 == 0 ? Status.CORDONED : Status.READY);
      cluster.round();
    }
    ClusterEventLog.Part all = log.after(0);

    assertThat(all.events()).hasSizeBetween(490, 510);
    assertThat(all.oldest()).isGreaterThan(1);
    assertThat(log.after(all.newest()).events()).isEmpty();
    try {
      log.follow(
          all.events().get(400).sequence(),
          event -> {
            seen.add(event.sequence());
            if (event.sequence() == all.newest()) {
              throw ended;
            }
          },
          () -> {});
    } catch (InterruptedException e) {
      assertThat(e).isSameAs(ended);
    }
    assertThat(seen).isEqualTo(all.events().stream().skip(401).map(Happened::sequence).toList());
  }

  @Test
  void aSeenStateIsComparedWithTheOneBefore() {
    var before =
        new LeaderEvents.Seen(
            "a", java.util.Map.of("a", new LeaderEvents.SeenNode("one", "ready")));

    assertThat(LeaderEvents.happened(Optional.of(before), before, Instant.EPOCH)).isEmpty();
  }
}
