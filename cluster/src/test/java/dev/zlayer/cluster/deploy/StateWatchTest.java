package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.schedule.NodeFacts;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.MemoryClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class StateWatchTest {
  private static final Duration SHORT = Duration.ofMillis(5);
  private static final Duration NEVER = Duration.ofHours(1);

  private MemoryClusterStore memory = new MemoryClusterStore();
  private final List<String> asked = new ArrayList<>();
  private boolean reachable = true;
  private boolean deaf;
  private final StateWatch.View view = new StateWatch.View();
  private final StateWatch watch =
      new StateWatch(store(), view, new StateWatch.Times(SHORT, SHORT, NEVER));

  @AfterEach
  void close() {
    watch.close();
  }

  /** The one in memory, whose requests are counted and which may be lost. */
  private ClusterStore store() {
    return (ClusterStore)
        Proxy.newProxyInstance(
            ClusterStore.class.getClassLoader(),
            new Class<?>[] {ClusterStore.class},
            (_, method, arguments) -> {
              asked.add(method.getName() + " " + arguments[0]);
              if (!reachable) {
                throw new AgentException.Network("nobody answers");
              }
              if (deaf && method.getName().equals("watch")) {
                return memory.watch("/nothing/", 1);
              }
              try {
                return method.invoke(memory, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private void put(String key, String value) {
    var _ =
        memory.transact(
            List.of(), List.of(new Change.Put(key, value)), Deadline.after(Duration.ofSeconds(1)));
  }

  private void rounds(int count) throws InterruptedException {
    for (int i = 0; i < count; i++) {
      var _ = watch.round();
    }
  }

  @Test
  void changesAreSeenWithoutReadingEverythingAgain() throws InterruptedException {
    put(StoreKeys.VOLUMES + "data", "a");
    rounds(1);
    assertThat(view.state().volumes()).containsEntry("data", "a");
    asked.clear();

    put(StoreKeys.VOLUMES + "data", "b");
    put(StoreKeys.VOLUMES + "more", "c");
    put(StoreKeys.LEADER, "a");
    rounds(4);
    assertThat(view.state().volumes()).containsEntry("data", "b").containsEntry("more", "c");
    assertThat(view.state().leader()).contains("a");
    assertThat(view.state().revision())
        .isEqualTo(memory.list("", Deadline.after(SHORT)).revision());
    var _ =
        memory.transact(
            List.of(),
            List.of(new Change.Delete(StoreKeys.VOLUMES + "more")),
            Deadline.after(Duration.ofSeconds(1)));
    rounds(2);
    assertThat(view.state().volumes()).containsOnlyKeys("data");
    assertThat(asked).doesNotContain("list " + StoreKeys.ALL);
  }

  @Test
  void whoWaitsForAChangeGetsTheNextOneAndNoneThatHeKnows() throws Exception {
    put(StoreKeys.VOLUMES + "data", "a");
    rounds(1);
    long seen = view.state().revision();
    assertThat(view.after(seen - 1, Deadline.after(SHORT))).contains(view.state());
    assertThat(view.after(seen, Deadline.after(SHORT))).isEmpty();

    try (var scope = new TaskScope("wait")) {
      var waiting = scope.fork(() -> view.after(seen, Deadline.after(Duration.ofMinutes(1))));
      put(StoreKeys.VOLUMES + "data", "b");
      rounds(1);
      scope.join();
      assertThat(waiting.result().orElseThrow().volumes()).containsEntry("data", "b");
    }
  }

  @Test
  void aWatchThatIsSilentIsNoticedByTheRevision() throws InterruptedException {
    deaf = true;
    rounds(1);
    put(StoreKeys.VOLUMES + "data", "a");
    rounds(1);

    assertThat(view.state().volumes()).containsEntry("data", "a");
  }

  @Test
  void whatIsNoLongerKnownIsReadAgain() throws InterruptedException {
    rounds(1);
    for (int i = 0; i < 5; i++) {
      put(StoreKeys.VOLUMES + "data", "v" + i);
    }
    memory.compact(memory.list("", Deadline.after(SHORT)).revision(), Deadline.after(NEVER));
    rounds(4);

    assertThat(view.state().volumes()).containsEntry("data", "v4");
  }

  @Test
  void aStateThatWasRestoredFromABackupIsReadAgain() throws InterruptedException {
    put(StoreKeys.VOLUMES + "data", "a");
    put(StoreKeys.VOLUMES + "data", "b");
    rounds(1);
    memory = new MemoryClusterStore();
    put(StoreKeys.VOLUMES + "data", "before");
    rounds(2);

    assertThat(view.state().volumes()).containsEntry("data", "before");
  }

  @Test
  void nobodyDecidesOnAStateWhileTheStoreIsLost() throws InterruptedException {
    put(StoreKeys.VOLUMES + "data", "a");
    rounds(2);
    reachable = false;
    rounds(1);
    assertThatThrownBy(view::state).isInstanceOf(AgentException.Network.class);

    reachable = true;
    rounds(1);
    assertThat(view.state().volumes()).containsEntry("data", "a");
  }

  @Test
  void whatANodeSaysAndNobodyUnderstandsKeepsNobodyFromDeciding() throws InterruptedException {
    put(StoreKeys.VOLUMES + "data", "a");
    put(StoreKeys.REPORTS + "n/shop", "{\"revision\": \"new\"}");
    put(StoreKeys.REPORTS + "n", "{}");
    put(StoreKeys.NETWORKS + "n/shop", "here");
    put(StoreKeys.ALIVE + "n", "{\"cpus\": 99999999999}");
    rounds(1);

    assertThat(view.state().volumes()).containsEntry("data", "a");
    assertThat(view.state().reports()).isEmpty();
    assertThat(view.state().networks()).isEmpty();
    assertThat(view.state().alive()).as("nothing of it begins elsewhere").containsOnlyKeys("n");
    put(StoreKeys.ALIVE + "n", "{");
    rounds(2);
    assertThat(view.state().alive()).containsOnlyKeys("n");
  }

  @Test
  void nobodyDecidesWithoutADecisionThatCannotBeRead() throws InterruptedException {
    put(StoreKeys.DESIRED + "shop", "{\"name\": \"shop\", \"created\": \"yesterday\"}");
    rounds(1);
    assertThatThrownBy(view::state)
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining(StoreKeys.DESIRED + "shop")
        .hasMessageContaining("another version");
    var _ =
        memory.transact(
            List.of(),
            List.of(new Change.Delete(StoreKeys.DESIRED + "shop")),
            Deadline.after(Duration.ofSeconds(1)));
    rounds(1);
    assertThat(view.state().desired()).isEmpty();
  }

  @Test
  void aNodeWhoseFactsNobodyUnderstandsKeepsWhatItHasAndGetsNothing() throws InterruptedException {
    var cluster = new Simulation().node("a").node("b");
    cluster.up("shop", "  web: {image: {name: web}, scale: {mode: fixed, replicas: 2}}\n");
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("a:1 b:2");
    var unclear = new Change.Put(StoreKeys.ALIVE + "b", "{\"cpus\": []}", cluster.leases.get("b"));
    var _ = cluster.store.transact(List.of(), List.of(unclear), Simulation.limit());
    cluster.up("mail", "  in: {image: {name: in}, scale: {mode: fixed, replicas: 2}}\n");
    cluster.converge();

    assertThat(cluster.where("shop", "web")).isEqualTo("a:1 b:2");
    assertThat(cluster.where("mail", "in")).isEqualTo("a:1,2");
  }

  @Test
  void aFileAndAResultThatNobodyUnderstandsAreThatOfOneDeployment() throws InterruptedException {
    String web = "  web: {image: {name: web}, scale: {mode: fixed, replicas: 1}}\n";
    var cluster = new Simulation().node("a");
    cluster.up("bad", web);
    cluster.converge();
    for (String key : List.of(StoreKeys.file("bad", 1), StoreKeys.result("bad", "report", 1))) {
      var wrong = new Change.Put(key, "{\"number\": \"one\"}");
      var _ = cluster.store.transact(List.of(), List.of(wrong), Simulation.limit());
    }
    cluster.leader = cluster.leader("a", Duration.ZERO);
    cluster.up("good", web);
    cluster.converge();

    assertThat(cluster.leader.problem()).isEmpty();
    assertThat(cluster.where("good", "web")).isEqualTo("a:1");
    assertThat(cluster.where("bad", "web")).as("it stays as it is").isEqualTo("a:1");
    assertThat(cluster.jobs.results()).isEmpty();
  }

  /** The replica that was placed a moment ago is not placed on another node, too. */
  @Test
  void aLeaderDoesNotDecideOnAStateWithoutItsOwnChanges() throws InterruptedException {
    var cluster = new Simulation().node("a").node("b");
    cluster.up("shop", "  web: {image: {name: web}, scale: {mode: fixed, replicas: 1}}\n");
    long lease = cluster.leases.get("a");
    var leads = new Change.Put(StoreKeys.LEADER, "a", lease);
    var _ = cluster.store.transact(List.of(), List.of(leads), Simulation.limit());
    var seen = new AtomicReference<>(cluster.state());
    var leader =
        new Leader(
            cluster.store,
            seen::get,
            "a",
            () -> lease,
            InstantSource.system(),
            () -> 0,
            Duration.ZERO);
    var _ = leader.round();
    String first = cluster.state().assignments("shop").keySet().iterator().next();

    // the node takes nothing any more, which is seen before the assignment
    long revision = seen.get().revision();
    cluster.schedule(first, NodeFacts.Status.CORDONED);
    seen.set(
        ClusterState.of(
            new ClusterStore.Snapshot(
                cluster.store.list(StoreKeys.ALL, Simulation.limit()).entries().stream()
                    .filter(entry -> !entry.key().startsWith(StoreKeys.ASSIGNMENTS))
                    .toList(),
                revision)));
    var _ = leader.round();

    assertThat(cluster.state().assignments("shop")).containsOnlyKeys(first);
  }
}
