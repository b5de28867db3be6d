package dev.zlayer.bench.work;

import dev.zlayer.bench.Census;
import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.json.Json;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.cluster.Fault;
import dev.zlayer.testkit.cluster.TestCluster;
import dev.zlayer.testkit.cluster.TestNode;
import dev.zlayer.testkit.image.ImageMaker;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Three agents and three members of etcd in network namespaces, with real containers. */
public final class ClusterWork implements Work {
  private static final double LONGEST_JOIN = 10;
  private static final double LONGEST_LOSS = 15;
  private static final double LONGEST_ELECTION = 6;
  private static final double MOST_MEMORY = 15;
  private static final Duration LIMIT = Duration.ofMinutes(2);

  /** Nobody is idle who was asked just now. */
  private static final Duration LULL = Duration.ofSeconds(8);

  private static final String WEB =
      """
      version: v1
      deployment: web
      services:
        web:
          image: {name: "%s", pull_policy: never}
          command: [sh, -c, "mkdir /www; echo served >/www/index.html; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait"]
          scale: {mode: manual, replicas: %d}
          update: {min_healthy_time: 0s}
          health: {check: {type: tcp, port: 8080}, interval: 1s}
          endpoints:
            - {name: http, protocol: tcp, port: 18080, target_port: 8080, expose: public}
      """;

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    if (!Files.isExecutable(arena.program())) {
      return List.of();
    }
    Options options = arena.options();
    boolean smoke = options.effort() == Options.Effort.SMOKE;
    var tables = new ArrayList<Report.Table>();
    var serve = List.of(arena.program().toString(), "serve");
    try (var cluster = new TestCluster(arena.directory("cluster"), serve, 3, false)) {
      byte[] image = ImageMaker.busybox().make().dockerArchive(TestCluster.IMAGE);
      for (TestNode node : cluster.nodes()) {
        TestCluster.load(node, image);
      }
      List<Double> alone = idle(cluster, smoke);
      tables.add(join(cluster));
      List<Double> joined = idle(cluster, smoke);
      restart(cluster);
      tables.add(memory(cluster, alone, joined, idle(cluster, smoke)));
      if (!smoke) {
        int rounds = options.size(3, 1);
        up(cluster.node(1), 3);
        tables.add(elections(cluster, rounds));
        tables.add(losses(cluster, rounds));
        tables.add(drain(cluster, options.size("replicas", 20, 20)));
        tables.addAll(new ClusterLoad(cluster, options).tables());
      }
    }
    return tables;
  }

  private static Report.Table join(TestCluster cluster) throws Exception {
    var rows = new ArrayList<Report.Row>();
    for (TestNode node : cluster.nodes()) {
      double seconds = seconds(() -> cluster.join(node));
      boolean first = node == cluster.node(1);
      String name = first ? "the first node begins it" : "node '%s' joins".formatted(node.name());
      rows.add(
          first
              ? Report.Row.of(name, seconds, "")
              : Report.Row.atMost(LONGEST_JOIN, name, seconds, ""));
    }
    TestCluster.await("all nodes are ready", LIMIT, () -> ready(cluster));
    return new Report.Table("a node joins", "s", "", rows);
  }

  private static boolean ready(TestCluster cluster) throws InterruptedException {
    for (TestNode node : cluster.nodes()) {
      List<Json> seen = node.get("/nodes").items();
      if (seen.size() != cluster.nodes().size()
          || seen.stream().anyMatch(one -> !one.at("status").string().orElse("").equals("ready"))) {
        return false;
      }
    }
    return true;
  }

  /** Of each agent, after the same time without a request. */
  private static List<Double> idle(TestCluster cluster, boolean smoke) throws InterruptedException {
    Pauses.REAL.pause(smoke ? Duration.ZERO : LULL);
    return cluster.nodes().stream().map(node -> Census.memory(node.agent().pid())).toList();
  }

  /** The launcher starts agents of a cluster in another way than those outside of one. */
  private static void restart(TestCluster cluster) throws Exception {
    for (TestNode node : cluster.nodes()) {
      node.killAgent();
      node.startAgent();
    }
    TestCluster.await("all nodes are ready", LIMIT, () -> ready(cluster));
  }

  private static Report.Table memory(
      TestCluster cluster, List<Double> alone, List<Double> joined, List<Double> restarted) {
    var rows = new ArrayList<Report.Row>();
    double most = 0;
    double mostJoined = 0;
    for (int i = 0; i < alone.size(); i++) {
      String name = cluster.nodes().get(i).name();
      most = Math.max(most, restarted.get(i) - alone.get(i));
      mostJoined = Math.max(mostJoined, joined.get(i) - alone.get(i));
      rows.add(Report.Row.of("'%s' alone".formatted(name), alone.get(i), ""));
      rows.add(Report.Row.of("'%s' after it joined".formatted(name), joined.get(i), ""));
      rows.add(Report.Row.of("'%s' started in the cluster".formatted(name), restarted.get(i), ""));
    }
    rows.add(
        Report.Row.of(
            "most that one grew by when it joined", mostJoined, "until its agent is restarted"));
    rows.add(
        Report.Row.atMost(
            MOST_MEMORY,
            "most that one started in it has more than alone",
            most,
            "without etcd itself"));
    return new Report.Table("memory of an agent", "MiB", "", rows);
  }

  /** The leader of etcd is killed; somebody asks until a change of the state is accepted. */
  private static Report.Table elections(TestCluster cluster, int rounds) throws Exception {
    var rows = new ArrayList<Report.Row>();
    for (int round = 1; round <= rounds; round++) {
      TestNode leader = Fault.leader(cluster, cluster.node(1));
      TestNode other = cluster.node(leader == cluster.node(1) ? 2 : 1);
      String file = WEB.formatted(TestCluster.IMAGE, 3).replace("served", "served " + round);
      leader.signalEtcd("KILL");
      double seconds =
          seconds(
              () ->
                  TestCluster.await(
                      "a change is accepted",
                      LIMIT,
                      () -> other.up("web", file, Duration.ofSeconds(5)).success()));
      rows.add(Report.Row.atMost(LONGEST_ELECTION, "kill %d".formatted(round), seconds, ""));
      awaitServing(cluster.node(1), 3);
    }
    return new Report.Table("kill of etcd's leader until 'up' works again", "s", "", rows);
  }

  private static Report.Table losses(TestCluster cluster, int rounds) throws Exception {
    var rows = new ArrayList<Report.Row>();
    for (int round = 0; round < rounds; round++) {
      TestNode leader = Fault.leader(cluster, cluster.node(1));
      boolean ofLeader = round % 2 == 1;
      TestNode lost =
          cluster.nodes().stream()
              .filter(node -> node == leader == ofLeader)
              .reduce((_, last) -> last)
              .orElseThrow();
      TestNode other = cluster.node(lost == cluster.node(1) ? 2 : 1);
      double seconds =
          seconds(
              () -> {
                cluster.begin(Fault.NODE_KILLED, lost);
                TestCluster.await("its loss is known", LIMIT, () -> serving(other) < 3);
                awaitServing(other, 3);
              });
      rows.add(
          Report.Row.atMost(
              LONGEST_LOSS, ofLeader ? "with etcd's leader" : "without it", seconds, ""));
      cluster.heal();
      lost.startAgent();
      TestCluster.await("it is back", LIMIT, () -> ready(cluster));
      awaitServing(other, 3);
      spread(other);
    }
    return new Report.Table("kill of a node until its replicas serve elsewhere", "s", "", rows);
  }

  /** What moved does not move back by itself: scaling makes the node have one again. */
  private static void spread(TestNode node) throws Exception {
    scale(node, 0);
    awaitServing(node, 0);
    scale(node, 3);
    awaitServing(node, 3);
  }

  private static Report.Table drain(TestCluster cluster, int replicas) throws Exception {
    TestNode one = cluster.node(1);
    TestNode two = cluster.node(2);
    TestNode three = cluster.node(3);
    scale(one, 0);
    awaitServing(one, 0);
    scheduling(one, one, "cordoned");
    scheduling(one, three, "cordoned");
    scale(one, replicas);
    awaitServing(one, replicas);
    scheduling(one, one, "ready");
    scheduling(one, three, "ready");
    TestCluster.await("the endpoint serves", LIMIT, () -> request(one) == 0);
    var failed = new java.util.concurrent.atomic.AtomicLong();
    var asked = new java.util.concurrent.atomic.AtomicLong();
    var over = new java.util.concurrent.atomic.AtomicBoolean();
    double seconds;
    try (var scope = new TaskScope("requests")) {
      for (int client = 0; client < 2; client++) {
        scope.fork(
            () -> {
              while (!over.get()) {
                asked.incrementAndGet();
                failed.addAndGet(request(one) == 0 ? 0 : 1);
              }
              return true;
            });
      }
      try {
        seconds =
            seconds(
                () -> {
                  scheduling(one, two, "draining");
                  TestCluster.await("it is empty", LIMIT.multipliedBy(3), () -> here(two) == 0);
                  awaitServing(one, replicas);
                });
      } finally {
        over.set(true);
      }
      scope.join();
    }
    scheduling(one, two, "ready");
    String note = "%d requests in %.0f s".formatted(asked.get(), seconds);
    return new Report.Table(
        "drain of a node with %d replicas".formatted(replicas),
        "requests",
        "",
        List.of(Report.Row.atMost(0, "failed", (double) failed.get(), note)));
  }

  /** On a connection of its own; 0 when it was answered. */
  private static int request(TestNode node) throws InterruptedException {
    return node.program(
            "curl",
            "--silent",
            "--fail",
            "--max-time",
            "5",
            "-o",
            "/dev/null",
            "http://" + node.address() + ":18080/")
        .code();
  }

  private static long here(TestNode node) throws InterruptedException {
    return node.get("/containers?local=true").items().size();
  }

  static void scheduling(TestNode through, TestNode node, String status)
      throws InterruptedException {
    Json _ =
        through.ok(
            "POST",
            "/nodes/" + node.name() + "/scheduling",
            Json.object().put("scheduling", status).build());
  }

  private static void up(TestNode node, int replicas) throws InterruptedException {
    TestNode.Answer answer = node.up("web", WEB.formatted(TestCluster.IMAGE, replicas), LIMIT);
    if (!answer.success()) {
      throw new IllegalStateException(answer.text());
    }
    awaitServing(node, replicas);
  }

  private static void scale(TestNode node, int replicas) throws InterruptedException {
    TestNode.Answer answer =
        node.send(
            HttpRequest.of("POST", "/api/v1/deployments/web/services/web/scale")
                .withJson("{\"replicas\":%d}".formatted(replicas)),
            LIMIT);
    if (!answer.success()) {
      throw new IllegalStateException(answer.text());
    }
  }

  private static void awaitServing(TestNode node, int replicas) throws InterruptedException {
    TestCluster.await(
        "%d replicas serve".formatted(replicas),
        LIMIT,
        () -> serving(node) == replicas && !state(node).equals("deploying"));
  }

  private static long serving(TestNode node) throws InterruptedException {
    return service(node).at("ready").integer().orElse(-1L);
  }

  private static String state(TestNode node) throws InterruptedException {
    return service(node).at("state").string().orElse("");
  }

  private static Json service(TestNode node) throws InterruptedException {
    return node.get("/deployments/web").at("services").items().getFirst();
  }

  private static double seconds(dev.zlayer.bench.Rounds.Step step) throws Exception {
    return dev.zlayer.bench.Rounds.millis(step) / 1000;
  }
}
