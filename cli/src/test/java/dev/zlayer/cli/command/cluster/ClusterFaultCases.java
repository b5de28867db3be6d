package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cli.EtcdUser;
import dev.zlayer.cluster.etcd.EtcdConfig;
import dev.zlayer.cluster.member.ClusterFiles;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.cluster.Fault;
import dev.zlayer.testkit.cluster.TestCluster;
import dev.zlayer.testkit.cluster.TestNode;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** One fault each, against a cluster of three; the last node has a disk of its own. */
final class ClusterFaultCases {
  private static final Duration LIMIT = Duration.ofSeconds(90);

  private static final String PINNED =
      """
      version: v1
      deployment: pinned
      services:
        here:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
          affinity: {pin: id=three}
          scale: {mode: manual, replicas: 1}
          update: {min_healthy_time: 0s}
      """;

  private static final String WORK =
      """
      version: v1
      deployment: work
      services:
        once:
          rtype: job
          image: {name: "bb:1", pull_policy: never}
          command: [echo, done]
          affinity: {pin: id=three}
          job: {retries: 0}
      """;

  /** One replica on each node. */
  private static final String SPREAD =
      """
      version: v1
      deployment: spread
      services:
        all:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
          scale: {mode: manual, replicas: 3}
          update: {min_healthy_time: 0s}
      """;

  private final TestCluster cluster;
  private final TestNode one;
  private final TestNode three;

  ClusterFaultCases(TestCluster cluster) {
    this.cluster = cluster;
    this.one = cluster.node(1);
    this.three = cluster.node(3);
  }

  /** Each of the others was given its member of etcd alone, and has one of its own since. */
  void theNodeThatAdmittedAllOthersIsKilledAtOnce() throws Exception {
    cluster.begin(Fault.NODE_KILLED, one);
    try {
      for (TestNode other : cluster.nodes().subList(1, 3)) {
        TestCluster.await(
            other.name() + " sees it as lost", LIMIT, () -> status(other, "one").equals("lost"));
      }
    } finally {
      cluster.heal();
      one.startAgent();
    }
    TestCluster.await("it is back", LIMIT, () -> status(three, "one").equals("ready"));
  }

  /** It hears all and nobody hears it: to the others it is lost, and its containers run on. */
  void aNodeThatIsNotHeardIsReplacedAndItsSurplusEnds() throws Exception {
    assertThat(one.up("spread", SPREAD, LIMIT)).matches(TestNode.Answer::success);
    TestCluster.await("it runs everywhere", LIMIT, () -> ready("spread") == 3);
    List<String> before = local(three, "spread");
    assertThat(before).hasSize(1);
    cluster.begin(Fault.ONE_WAY_OUT, three);
    try {
      TestCluster.await(
          "its replica runs elsewhere",
          LIMIT,
          // a list lacks what does not answer, so the others have to have all of it
          () ->
              status("three").equals("lost")
                  && ready("spread") == 3
                  && containers("spread", "one").size() + containers("spread", "two").size() == 3);
      assertThat(local(three, "spread")).isEqualTo(before);
    } finally {
      cluster.heal();
    }
    TestCluster.await(
        "the surplus ends",
        LIMIT,
        () -> local(three, "spread").isEmpty() && status("three").equals("ready"));
    assertThat(ready("spread")).isEqualTo(3);
    down("spread");
  }

  /** Its agent and its member of etcd wait for the disk; the others decide without it. */
  void aFrozenDiskHoldsUpNobodyElse() throws Exception {
    cluster.begin(Fault.DISK_FROZEN, three);
    try {
      TestCluster.await("a change is accepted", LIMIT, () -> label("one", "frozen"));
    } finally {
      cluster.heal();
    }
    TestCluster.await(
        "it follows again",
        LIMIT,
        () -> status("three").equals("ready") && three.get("/cluster").at("problem").isNull());
  }

  /** What it is given meanwhile starts when there is room, and does not fail. */
  void aNodeWhoseDiskIsFullContinuesWhenThereIsRoom() throws Exception {
    assertThat(one.up("work", WORK, LIMIT)).matches(TestNode.Answer::success);
    String first = execute("work/once");
    TestCluster.await("it ends", LIMIT, () -> execution(first).equals("completed"));
    String second;
    cluster.begin(Fault.DISK_FULL, three);
    try {
      second = execute("work/once");
      TestCluster.await(
          "it says that there is no room",
          LIMIT,
          () -> three.get("/cluster").at("problem").string().orElse("").contains("no space"));
      assertThat(execution(second)).isEqualTo("pending");
      assertThat(one.up("pinned", PINNED, LIMIT)).matches(TestNode.Answer::success);
      TestCluster.await("another node is not held up", LIMIT, () -> label("one", "full"));
    } finally {
      cluster.heal();
    }
    TestCluster.await("its replica runs", LIMIT, () -> ready("pinned") == 1);
    TestCluster.await("the execution ends", LIMIT, () -> execution(second).equals("completed"));
    down("work");
  }

  /** Its kernel answers for it, so the connection itself does not end. */
  void aStreamFromANodeThatHangsEnds() throws Exception {
    String id = local(three, "pinned").getFirst();
    HttpRequest logs = HttpRequest.get("/api/v1/containers/" + id + "/logs?follow=true");
    try (var client = HttpClient.open(new HttpAddress.Unix(one.directory().resolve("socket")));
        var followed = client.send(logs, Deadline.after(LIMIT))) {
      assertThat(followed.status()).isEqualTo(200);
      three.signalAgent("STOP");
      try {
        assertThatThrownBy(() -> followed.body().readAllBytes())
            .isInstanceOf(IOException.class)
            .message()
            .doesNotContain("timed out");
      } finally {
        three.signalAgent("CONT");
      }
    }
  }

  /** Its watch is broken, and what changed meanwhile is known to nobody any more. */
  void aNodeThatWasAwayDuringACompactionReadsEverythingAgain() throws Exception {
    three.signalAgent("STOP");
    try {
      for (TestNode node : cluster.nodes()) {
        node.signalEtcd("KILL");
      }
      TestCluster.await("a change is accepted", LIMIT, () -> scale("pinned", "here", 2));
      TestCluster.await("history is dropped", LIMIT, this::compact);
    } finally {
      three.signalAgent("CONT");
    }
    TestCluster.await("it has read that", LIMIT, () -> ready("pinned") == 2);
    down("pinned");
  }

  private String execute(String job) throws InterruptedException {
    return one.ok("POST", "/jobs/" + job + "/executions", Json.object().build())
        .at("id")
        .string()
        .orElseThrow();
  }

  private String execution(String id) throws InterruptedException {
    return one.get("/executions/" + id).at("status").string().orElse("");
  }

  private void down(String deployment) throws InterruptedException {
    String path = "/deployments/" + deployment + "?wait=60s";
    assertThat(one.ask("DELETE", path, Json.Null.INSTANCE, LIMIT))
        .matches(TestNode.Answer::success);
  }

  /** A request that waits for changes of the state, with a certificate that is valid for months. */
  void connectionsOfARemovedNodeEnd() throws Exception {
    String request =
        "{\"create_request\":{\"key\":\"L3psYXllci8=\",\"range_end\":\"L3psYXllcjA=\"}}";
    var asking = new EtcdUser(three.network(), three.etcdDirectory().getParent(), one.address());
    Process open =
        new ProcessBuilder(asking.words(asking.token(), "watch", request))
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      // its first line says that the watch is there
      assertThat(open.getInputStream().read()).isEqualTo('{');
      assertThat(one.ask("DELETE", "/nodes/three?force=true", Json.Null.INSTANCE, LIMIT).success())
          .isTrue();
      TestCluster.await("its connection ends", LIMIT, () -> !open.isAlive());
    } finally {
      open.destroyForcibly();
    }
  }

  private boolean compact() throws Exception {
    Path etcd = one.etcdDirectory();
    EtcdConfig.Login root = new ClusterFiles(etcd.getParent()).login().orElseThrow();
    String[] base = {
      "env",
      "ETCDCTL_API=3",
      "etcdctl",
      "--endpoints=https://" + one.address() + ":2379",
      "--cacert=" + etcd.resolveSibling("ca.crt"),
      "--cert=" + etcd.resolveSibling("node.crt"),
      "--key=" + etcd.resolveSibling("node.key"),
      "--user=%s:%s".formatted(root.user(), root.password())
    };
    CommandResult found = program(base, "get", "none", "--write-out=json");
    long revision =
        JsonText.parse(found.stdout()).at("header").at("revision").integer().orElseThrow();
    return program(base, "compact", Long.toString(revision)).success();
  }

  private CommandResult program(String[] base, String... words) throws Exception {
    var command = new java.util.ArrayList<>(List.of(base));
    command.addAll(List.of(words));
    return one.program(command.toArray(String[]::new));
  }

  private boolean label(String node, String label) throws InterruptedException {
    Json labels = Json.object().put("set", Json.object().put(label, "yes").build()).build();
    return one.ask("POST", "/nodes/" + node + "/labels", labels, LIMIT).success();
  }

  private boolean scale(String deployment, String service, int replicas)
      throws InterruptedException {
    return one.send(
            HttpRequest.of(
                    "POST",
                    "/api/v1/deployments/%s/services/%s/scale".formatted(deployment, service))
                .withJson("{\"replicas\":%d}".formatted(replicas)),
            LIMIT)
        .success();
  }

  private String status(String node) throws InterruptedException {
    return status(one, node);
  }

  /** As that node sees it. */
  private static String status(TestNode through, String node) throws InterruptedException {
    return through.get("/nodes").items().stream()
        .filter(found -> found.at("name").string().orElse("").equals(node))
        .map(found -> found.at("status").string().orElse(""))
        .findFirst()
        .orElse("");
  }

  private long ready(String deployment) throws InterruptedException {
    Json service = one.get("/deployments/" + deployment).at("services").items().getFirst();
    return service.at("state").string().orElse("").equals("running")
        ? service.at("ready").integer().orElse(-1L)
        : -1;
  }

  /** Those on a node, as another one lists them. */
  private List<String> containers(String deployment, String node) throws InterruptedException {
    return one.get("/containers").items().stream()
        .filter(found -> found.at("deployment").string().orElse("").equals(deployment))
        .filter(found -> found.at("node").string().orElse("").equals(node))
        .map(found -> found.at("id").string().orElseThrow())
        .toList();
  }

  /** Those on it, as it lists them itself. */
  private static List<String> local(TestNode node, String deployment) throws InterruptedException {
    return node.get("/containers?local=true").items().stream()
        .filter(found -> found.at("deployment").string().orElse("").equals(deployment))
        .map(found -> found.at("id").string().orElseThrow())
        .toList();
  }
}
