package dev.zlayer.bench.work;

import dev.zlayer.bench.Census;
import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.cluster.deploy.Desired;
import dev.zlayer.cluster.deploy.StateWatch;
import dev.zlayer.cluster.etcd.EtcdClient;
import dev.zlayer.cluster.etcd.EtcdConfig;
import dev.zlayer.cluster.etcd.EtcdStore;
import dev.zlayer.cluster.member.ClusterFiles;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.host.http.TlsFiles;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.cluster.TestCluster;
import dev.zlayer.testkit.cluster.TestNode;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Many nodes that do with a real etcd what nodes do while nothing happens: each keeps its lease,
 * follows the state and compares its revision. The real leader places replicas on them, which
 * nobody starts.
 */
final class ClusterLoad {
  private static final double MOST_CORES = 1;
  private static final double LEAST_PLACEMENTS = 1_000;
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Duration LEASE = Duration.ofSeconds(30);
  private static final Duration RENEWAL = Duration.ofMillis(1500);
  private static final Duration MEASURED = Duration.ofSeconds(20);

  /** Connections for watches are one each; the rest is shared. */
  private static final int CLIENTS = 10;

  private static final int EACH = 500;

  private final TestCluster cluster;
  private final int nodes;
  private final int replicas;
  private final List<ClusterStore> stores = new ArrayList<>();
  private final AtomicBoolean over = new AtomicBoolean();

  ClusterLoad(TestCluster cluster, Options options) {
    this.cluster = cluster;
    this.nodes = options.size("nodes", 1_000, 100);
    this.replicas = options.size(10_000, 2_000);
  }

  List<Report.Table> tables() throws Exception {
    cluster.attach();
    for (int i = 0; i < CLIENTS; i++) {
      stores.add(store());
    }
    try (var scope = new TaskScope("nodes")) {
      var begun = new CountDownLatch(nodes);
      for (int i = 0; i < nodes; i++) {
        int number = i;
        scope.fork(
            () -> {
              live(number, begun);
              return true;
            });
        scope.fork(
            () -> {
              follow(number, begun);
              return true;
            });
      }
      begun.await();
      Pauses.REAL.pause(RENEWAL.multipliedBy(2));
      Report.Table idle = idle();
      Report.Table placed = place();
      over.set(true);
      scope.join();
      return List.of(idle, placed);
    } finally {
      over.set(true);
      stores.forEach(ClusterStore::close);
    }
  }

  private ClusterStore store() {
    Path etcd = cluster.node(1).etcdDirectory();
    var tls =
        new TlsFiles(
                Optional.of(etcd.resolveSibling("ca.crt")),
                Optional.of(
                    new TlsFiles.Own(
                        etcd.resolveSibling("node.crt"), etcd.resolveSibling("node.key"))))
            .context();
    List<URI> members =
        cluster.nodes().stream()
            .map(node -> URI.create("https://" + node.address() + ":2379"))
            .toList();
    int first = stores.size() % members.size();
    var order = new ArrayList<>(members.subList(first, members.size()));
    order.addAll(members.subList(0, first));
    var login = new ClusterFiles(cluster.node(1).directory().resolve("data/cluster")).login();
    return new EtcdStore(EtcdClient.open(new EtcdConfig(order, Optional.of(tls), login)));
  }

  /** A member of the cluster under a lease that it renews as often as nodes do. */
  private void live(int number, CountDownLatch begun) throws InterruptedException {
    ClusterStore store = stores.get(number % stores.size());
    String id = "simulated%04d".formatted(number);
    var record =
        new NodeRecord(id, id, "192.0.2.200", false, Instant.EPOCH, Map.of("simulated", "yes"));
    var facts =
        new NodeRecord.Facts(
            64, 256L << 30, List.of("linux/amd64"), List.of("oci"), List.of(), "bench", List.of());
    long lease = store.grant(LEASE, Deadline.after(LIMIT));
    var _ =
        store.transact(
            List.of(),
            List.of(
                new Change.Put(StoreKeys.member(id), JsonText.print(RecordJson.write(record))),
                new Change.Put(
                    StoreKeys.alive(id), JsonText.print(RecordJson.write(facts)), lease)),
            Deadline.after(LIMIT));
    begun.countDown();
    while (!over.get()) {
      Pauses.REAL.pause(RENEWAL);
      boolean _ = store.keepAlive(lease, Deadline.after(LIMIT));
    }
  }

  /** As a node follows the state, without what it does with it. */
  private void follow(int number, CountDownLatch begun) throws InterruptedException {
    begun.await();
    ClusterStore store = stores.get(number % stores.size());
    long from = store.list(StoreKeys.LEADER, Deadline.after(LIMIT)).revision() + 1;
    try (var watch = store.watch(StoreKeys.ALL, from)) {
      Deadline check = Deadline.after(StateWatch.check(nodes));
      while (!over.get()) {
        var _ = watch.next(Duration.ofMillis(500));
        if (check.passed()) {
          var _ = store.list(StoreKeys.LEADER, Deadline.after(LIMIT));
          check = Deadline.after(StateWatch.check(nodes));
        }
      }
    }
  }

  private Report.Table idle() throws InterruptedException {
    double before = etcd();
    long began = System.nanoTime();
    Pauses.REAL.pause(MEASURED);
    double cores = (etcd() - before) / ((System.nanoTime() - began) / 1e9);
    return new Report.Table(
        "etcd while nothing happens",
        "cores",
        "",
        List.of(
            Report.Row.atMost(
                MOST_CORES,
                "three members, %d nodes".formatted(nodes),
                cores,
                "all three together")));
  }

  private double etcd() {
    return cluster.nodes().stream()
        .mapToDouble(node -> Census.cpuSeconds(node.etcd().orElseThrow()))
        .sum();
  }

  private Report.Table place() throws InterruptedException {
    var file = new StringBuilder("version: v1\ndeployment: load\nservices:\n");
    for (int i = 0; i < replicas / EACH; i++) {
      file.append("  s").append(i).append(":\n");
      file.append("    image: {name: \"").append(TestCluster.IMAGE);
      file.append("\", pull_policy: never}\n    command: [sleep, \"1000\"]\n");
      file.append("    node_selector: {labels: {simulated: \"yes\"}}\n");
      file.append("    scale: {mode: manual, replicas: ").append(EACH).append("}\n");
    }
    TestNode node = cluster.node(1);
    long began = System.nanoTime();
    TestNode.Answer answer = node.up("load", file.toString(), LIMIT);
    if (!answer.success()) {
      throw new IllegalStateException(answer.text());
    }
    TestCluster.await("all replicas are placed", LIMIT, () -> placed() == replicas);
    double rate = replicas / ((System.nanoTime() - began) / 1e9);
    String verdict =
        "%s the bar of %.0f/s"
            .formatted(rate >= LEAST_PLACEMENTS ? "meets" : Report.MISSED, LEAST_PLACEMENTS);
    return new Report.Table(
        "placements by the leader into three members of etcd, %d nodes".formatted(nodes),
        "/s",
        "",
        List.of(Report.Row.of("%d replicas".formatted(replicas), rate, verdict)));
  }

  private long placed() throws InterruptedException {
    return stores.getFirst().list(StoreKeys.ASSIGNMENTS, Deadline.after(LIMIT)).entries().stream()
        .filter(entry -> entry.key().endsWith("/load"))
        .flatMap(entry -> assignment(entry.value()).replicas().values().stream())
        .mapToLong(List::size)
        .sum();
  }

  private static Desired.Assignment assignment(String json) {
    return RecordJson.read(JsonText.parse(json), Desired.Assignment.class);
  }
}
