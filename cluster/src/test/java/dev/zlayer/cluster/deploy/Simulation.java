package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.schedule.NodeFacts;
import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.MemoryClusterStore;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A cluster in memory: a store, a leader, and nodes whose engines do what they are told at once.
 */
final class Simulation {
  static final Instant NOW = Instant.parse("2026-11-18T00:00:00Z");
  static final long LEASE = Duration.ofHours(1).toSeconds();

  final MemoryClusterStore store = new MemoryClusterStore();
  Instant now = NOW;
  final ClusterJobs jobs = new ClusterJobs(store, () -> now);
  final ClusterDeployments deployments = new ClusterDeployments(store, () -> now);
  final Map<String, FakeEngine> engines = new TreeMap<>();
  final Map<String, NodeShares> nodes = new TreeMap<>();
  final Map<String, NodeJobs> runners = new TreeMap<>();
  final Map<String, Long> leases = new HashMap<>();

  /** What a node has when it joins or comes back. */
  final Map<String, List<NodeFacts.Gpu>> gpus = new HashMap<>();

  Leader leader = leader("a", Duration.ZERO);

  ClusterState state() throws InterruptedException {
    return ClusterState.read(store, limit());
  }

  Leader leader(String node, Duration grace) {
    return new Leader(
        store,
        this::state,
        node,
        () -> leases.getOrDefault(node, 0L),
        () -> now,
        () -> System.nanoTime() / 1_000_000,
        grace);
  }

  /** Joins, and is alive. */
  Simulation node(String id) throws InterruptedException {
    var record = new NodeRecord(id, "node-" + id, "192.0.2.1", true, NOW, Map.of());
    put(StoreKeys.member(id), JsonText.print(RecordJson.write(record)), 0);
    engines.put(id, new FakeEngine());
    revive(id);
    return this;
  }

  void revive(String id) throws InterruptedException {
    long lease = store.grant(Duration.ofHours(1), limit());
    leases.put(id, lease);
    var facts =
        new NodeRecord.Facts(
            4,
            8L << 30,
            List.of("linux/amd64"),
            List.of("oci"),
            List.of(),
            "1",
            gpus.getOrDefault(id, List.of()));
    put(StoreKeys.alive(id), JsonText.print(RecordJson.write(facts)), lease);
    nodes.put(
        id,
        new NodeShares(
            store, this::state, id, () -> leases.getOrDefault(id, 0L), engines.get(id), _ -> {}));
  }

  /** A node runs jobs when it has an engine for them, which outlives its agent. */
  void runJobs(String id, NodeJobs.Engine engine) {
    runners.put(id, new NodeJobs(store, this::state, id, engine, () -> now));
  }

  /** Its lease ends; its containers keep running. */
  void lose(String id) throws InterruptedException {
    store.revoke(leases.remove(id), limit());
    nodes.remove(id);
  }

  void schedule(String id, Status status) throws InterruptedException {
    var record = NodeRecord.parse(store.find(StoreKeys.member(id), limit()).orElseThrow().value());
    var changed =
        new NodeRecord(
            record.id(),
            record.name(),
            record.address(),
            record.server(),
            record.joined(),
            record.labels(),
            Optional.of(status));
    put(StoreKeys.member(id), JsonText.print(RecordJson.write(changed)), 0);
  }

  private void put(String key, String value, long lease) {
    var _ = store.transact(List.of(), List.of(new Change.Put(key, value, lease)), limit());
  }

  static Deadline limit() {
    return Deadline.after(Duration.ofSeconds(5));
  }

  void up(String name, String services) throws InterruptedException {
    var _ =
        deployments.up(
            name,
            "version: v1\ndeployment: %s\nservices:\n%s"
                .formatted(name, services)
                .getBytes(StandardCharsets.UTF_8),
            "/srv",
            OptionalLong.empty());
  }

  /** One turn of everybody. */
  void round() throws InterruptedException {
    var _ = leader.round();
    for (NodeShares node : List.copyOf(nodes.values())) {
      var _ = node.round();
    }
    for (String id : List.copyOf(nodes.keySet())) {
      NodeJobs runner = runners.get(id);
      if (runner != null) {
        var _ = runner.round();
      }
    }
  }

  /** Rounds until nothing changes; fails when that never is. */
  void converge() throws InterruptedException {
    long before = -1;
    for (int i = 0; i < 200; i++) {
      round();
      long now = store.list(StoreKeys.ALL, limit()).revision();
      if (now == before) {
        return;
      }
      before = now;
    }
    throw new AssertionError("it does not come to rest");
  }

  /** What runs where: {@code a:1,3 b:2}. */
  String where(String deployment, String service) {
    var text = new StringBuilder();
    engines.forEach(
        (id, engine) -> {
          List<Integer> numbers = engine.numbers(deployment, service);
          if (!numbers.isEmpty()) {
            text.append(text.isEmpty() ? "" : " ")
                .append(id)
                .append(':')
                .append(String.join(",", numbers.stream().map(String::valueOf).toList()));
          }
        });
    return text.toString();
  }

  /** Runs what it is given; ready at once, unless told otherwise. */
  static final class FakeEngine implements NodeShares.Engine {
    final Map<String, Assignment> running = new TreeMap<>();
    final Map<String, Boolean> removed = new TreeMap<>();
    final TreeSet<String> refuses = new TreeSet<>();

    Optional<Desired.Load> load = Optional.empty();

    /** Services for which it has no runtime. */
    final TreeSet<String> misfits = new TreeSet<>();

    boolean ready = true;

    List<Integer> numbers(String deployment, String service) {
      return Optional.ofNullable(running.get(deployment))
          .map(one -> one.numbers(service))
          .orElse(List.of());
    }

    @Override
    public Map<String, NodeShares.Applied> applied() {
      var applied = new TreeMap<String, NodeShares.Applied>();
      running.forEach(
          (name, one) -> {
            var services = new TreeMap<String, Desired.ServiceReport>();
            var roles = new TreeMap<String, List<Integer>>();
            one.replicas()
                .forEach(
                    (group, numbers) -> {
                      List<Integer> shown = ready ? numbers : List.of();
                      if (group.contains("/")) {
                        roles.put(group, shown);
                      } else {
                        boolean misfit = misfits.contains(group);
                        services.put(
                            group,
                            new Desired.ServiceReport(
                                misfit ? "failed" : "running",
                                misfit ? List.of() : shown,
                                misfit,
                                Optional.empty(),
                                Optional.empty(),
                                misfit
                                    ? Optional.of("enable it, or add a peer to the cluster")
                                    : Optional.empty(),
                                Optional.of(numbers.size()),
                                load));
                      }
                    });
            applied.put(
                name,
                new NodeShares.Applied(
                    one.revision(),
                    one.replicas(),
                    one.mark(),
                    false,
                    new Desired.Report(
                        one.revision(),
                        services,
                        Optional.empty(),
                        roles,
                        Optional.of(one.mark()))));
          });
      return applied;
    }

    @Override
    public Optional<String> apply(String deployment, Assignment assignment, Desired.File file) {
      if (refuses.contains(deployment)) {
        return Optional.of("it has one of its own");
      }
      running.put(deployment, assignment);
      return Optional.empty();
    }

    @Override
    public void remove(String deployment, boolean volumes) {
      running.remove(deployment);
      removed.put(deployment, volumes);
    }
  }
}
