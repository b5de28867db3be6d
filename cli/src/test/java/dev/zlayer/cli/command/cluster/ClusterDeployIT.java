package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.ClusterFixture;
import dev.zlayer.cli.ClusterFixture.Machine;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * One deployment on three machines with real containers, in the order of the tests: each begins
 * with what the one before left.
 */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.OVERLAYFS, Fact.BUSYBOX},
    programs = {"curl", "etcd", "flock", "setsid", "ip", "bridge", "nft", "nsenter", "busybox"})
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClusterDeployIT {
  private static final Duration LIMIT = Duration.ofSeconds(90);

  private static final String SHOP =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; echo serving step $STEP; sleep 1000 & wait"]
          env: {STEP: "1"}
          scale: {mode: manual, replicas: 3}
          update: {min_healthy_time: 0s}
      """;

  /** The only replica that serves is on one machine, the one that asks on another. */
  private static final String MESH =
      """
      version: v1
      deployment: mesh
      services:
        web:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "exec nc -ll -p 8080 -e echo served"]
          affinity: {pin: id=two}
          update: {min_healthy_time: 0s}
          endpoints:
            - {name: http, protocol: tcp, port: 18080, target_port: 8080, expose: public}
        client:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
          affinity: {pin: id=one}
          update: {min_healthy_time: 0s}
      """;

  private static final String OTHER =
      """
      version: v1
      deployment: other
      services:
        client:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
          affinity: {pin: id=one}
          update: {min_healthy_time: 0s}
      """;

  @TempDir static Path directory;
  private static ClusterFixture machines;
  private static Machine one;
  private static Machine two;
  private static Machine three;

  @BeforeAll
  static void start() {
    machines = new ClusterFixture(directory, 3);
    one = machines.machine(1);
    two = machines.machine(2);
    three = machines.machine(3);
    machines.withBusybox("bb:1");
    machines.form("one", "two", "three");
  }

  @AfterAll
  static void stop() {
    if (machines != null) {
      machines.close();
    }
  }

  @Test
  @Order(1)
  void upOnOneNodeStartsReplicasOnAll() throws Exception {
    two.agent().ok("up", file(SHOP), "--wait", "90s");

    assertThat(one.replicas("shop"))
        .isEqualTo(two.replicas("shop"))
        .isEqualTo(three.replicas("shop"));
    assertThat(one.replicas("shop").values()).containsExactlyInAnyOrder("one", "two", "three");
    for (Machine machine : List.of(one, two, three)) {
      assertThat(machine.agent().ok("ps"))
          .contains("NODE", "shop/web/1", "shop/web/2", "shop/web/3", "one", "two", "three");
      Json status = machine.agent().json("status", "shop", "--json");
      assertThat(status.at("state").string()).contains("running");
      assertThat(status.at("services").items().getFirst().at("ready").integer()).contains(3L);
    }
    assertThat(three.agent().ok("status", "shop")).contains("NODE", "3/3");
    assertThat(three.agent().ok("status")).contains("shop");
  }

  @Test
  @Order(2)
  void containersOfOtherNodesAreReached() {
    String other = "shop/web/" + number("three");

    // a replica is ready when it runs, and prints a moment later
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> {
              assertThat(one.agent().ok("logs", other)).contains("serving step 1");
              assertThat(one.agent().ok("logs", "shop/web").lines()).hasSize(3);
            });
    assertThat(one.agent().ok("exec", other, "sh", "-c", "echo in $STEP")).isEqualTo("in 1\n");
    assertThat(one.agent().cli().run("exec", other, "sh", "-c", "exit 7").code()).isEqualTo(7);
    CliFixture.Result interactive =
        one.agent().cli().runWithInput("over\n".getBytes(), "exec", "-i", other, "cat");
    assertThat(interactive.out()).isEqualTo("over\n");
    assertThat(one.agent().ok("inspect", other)).contains("\"deployment\": \"shop\"");
    assertThat(one.agent().cli().run("exec", "shop/web/9", "true").err()).contains("not found");
  }

  @Test
  @Order(3)
  void scaleUpdateAndRollbackReachAllNodes() throws Exception {
    three.agent().ok("scale", "shop/web=4");
    awaitReady(one, 4);
    three.agent().ok("scale", "shop/web=3");
    awaitReady(one, 3);
    // one that stops is listed until other nodes have left it out
    await().atMost(LIMIT).untilAsserted(() -> assertThat(one.replicas("shop")).hasSize(3));

    one.agent().ok("up", file(SHOP.replace("STEP: \"1\"", "STEP: \"2\"")), "--wait", "90s");
    for (String node : List.of("one", "two", "three")) {
      assertThat(two.agent().ok("exec", "shop/web/" + number(node), "sh", "-c", "echo $STEP"))
          .isEqualTo("2\n");
    }
    two.agent().ok("rollback", "shop", "--wait", "90s");
    assertThat(two.agent().ok("exec", "shop/web/" + number("one"), "sh", "-c", "echo $STEP"))
        .isEqualTo("1\n");
    assertThat(one.agent().ok("revisions", "shop")).contains("rollback to 1");
  }

  @Test
  @Order(4)
  void whatAClusterCannotDoIsRefused() throws Exception {
    CliFixture.Result refused =
        one.agent()
            .cli()
            .run("up", file(SHOP.replace("env: {", "pid_mode: \"container:x\"\n    env: {")));
    assertThat(refused.code()).isNotZero();
    assertThat(refused.err())
        .contains("services.web.pid_mode", "may be on another node", "--local");
  }

  @Test
  @Order(5)
  void aDeploymentOfOneNodeStaysThere() throws Exception {
    one.agent()
        .ok(
            "up",
            file(SHOP.replace("deployment: shop", "deployment: mine")),
            "--local",
            "--wait",
            "60s");
    assertThat(two.agent().ok("status")).contains("mine").contains("one");
    assertThat(two.agent().ok("exec", "mine/web/1", "echo", "there")).isEqualTo("there\n");
    // what the other node says, which is not silent
    assertThat(two.agent().cli().run("exec", "mine/web", "true").err())
        .contains("means several containers", "mine/web/2")
        .doesNotContain("did not answer");
    CliFixture.Result taken = one.agent().cli().run("up", file(SHOP), "--local");
    assertThat(taken.err()).contains("deployment 'shop' is of the cluster");
    assertThat(taken.code()).isNotZero();
    aTokenReachesNoMoreThroughAnotherNode();
    two.agent().ok("down", "mine");
    assertThat(one.agent().ok("status")).doesNotContain("mine");
  }

  /** Its containers are on node one. */
  private static void aTokenReachesNoMoreThroughAnotherNode() {
    String token = two.agent().ok("token", "create", "--deployment", "mine").strip();
    for (String query : List.of("", "?deployment=", "?xdeployment=1", "?deployment=mine")) {
      assertThat(two.ask(token, "/containers" + query))
          .endsWith("200")
          .contains("mine/web/1")
          .doesNotContain("shop");
    }
    String exec = "/containers/mine:web:1/exec";
    assertThat(two.ask(token, exec, "-d", "{command: [echo, inside]}"))
        .endsWith("200")
        .contains("inside");
    assertThat(two.ask(token, exec, "-d", "{command: [echo, inside], privileged: true}"))
        .endsWith("403")
        .contains("runs no privileged processes");
    assertThat(two.ask(token, "/containers/shop:web:%d".formatted(number("one")))).endsWith("404");
    assertThat(two.ask(token, "/containers/shop:web:%d".formatted(number("two")))).endsWith("404");
    assertThat(two.ask(token, "/deployments/mine/stop", "-X", "POST")).endsWith("204");
    assertThat(two.ask(token, "/deployments/shop/stop", "-X", "POST")).endsWith("403");
  }

  @Test
  @Order(6)
  void aDrainedNodeIsEmptied() {
    one.agent().ok("node", "drain", "two");
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> assertThat(one.replicas("shop").values()).doesNotContain("two").hasSize(3));
    assertThat(one.nodes()).contains("two draining");
    one.agent().ok("node", "uncordon", "two");
    one.agent().ok("node", "cordon", "one");
    one.agent().ok("scale", "shop/web=4");
    awaitReady(three, 4);
    assertThat(one.replicas("shop").values()).contains("two");
    one.agent().ok("node", "uncordon", "one");
  }

  /** Its containers run on, so the others must not take long to see it again. */
  @Test
  @Order(7)
  void anAgentThatIsKilledAndStartsAgainKeepsItsContainers() {
    Machine leader = machine(leader());
    Machine other = leader == one ? two : one;
    Map<Long, String> before = other.replicas("shop");
    leader.agent().kill();
    leader.agent().restart();
    await().atMost(LIMIT).untilAsserted(() -> assertThat(other.replicas("shop")).isEqualTo(before));
    other.agent().ok("scale", "shop/web=5");
    awaitReady(other, 5);
  }

  @Test
  @Order(8)
  void theReplicasOfALostNodeStartElsewhereAndItsSurplusEnds() {
    machines.cable(3, false);
    try {
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () -> assertThat(one.replicas("shop").values()).hasSize(5).doesNotContain("three"));
      // nothing that runs ends for it
      assertThat(three.agent().ok("ps", "--quiet").lines()).isNotEmpty();
    } finally {
      machines.cable(3, true);
    }
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> {
              assertThat(three.agent().ok("node", "ls")).contains("three *", "ready");
              assertThat(three.replicas("shop").values()).hasSize(5).doesNotContain("three");
            });
  }

  @Test
  @Order(9)
  void containersKeepRunningWithoutEtcd() throws Exception {
    List<Long> pids = pids(one);
    assertThat(pids).isNotEmpty();
    two.member().destroyForcibly();
    three.member().destroyForcibly();
    one.member().destroyForcibly();
    one.agent().kill();
    one.agent().restart();
    assertThat(pids(one)).isEqualTo(pids);
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(one.agent().cli().run("scale", "shop/web=2").code())
                    .as("etcd is started again")
                    .isZero());
    awaitReady(one, 2);
  }

  @Test
  @Order(10)
  void downRemovesItFromAllNodes() {
    three.agent().ok("down", "shop", "--wait", "60s");
    assertThat(one.agent().ok("status")).doesNotContain("shop");
    for (Machine machine : List.of(one, two, three)) {
      await()
          .atMost(LIMIT)
          .untilAsserted(() -> assertThat(machine.agent().ok("ps", "--all", "--quiet")).isEmpty());
    }
  }

  @Test
  @Order(11)
  void jobsRunOnANodeAndAreReadOnAll() throws Exception {
    new ClusterBatch(machines).runsOnANodeAndIsReadOnAll(file(ClusterBatch.FILE));
  }

  @Test
  @Order(12)
  void aJobOfALostNodeRunsOnAnotherOne() {
    new ClusterBatch(machines).runsOnAnotherNodeWhenItsOwnIsLost();
  }

  @Test
  @Order(13)
  void aServiceIsReachedByNameAndByItsEndpointOnAllNodes() throws Exception {
    three.agent().ok("up", file(MESH), "--wait", "90s");

    await().atMost(LIMIT).untilAsserted(() -> assertThat(byName()).isEqualTo("served\n"));
    for (Machine machine : List.of(one, two, three)) {
      await()
          .atMost(LIMIT)
          .untilAsserted(() -> assertThat(get(one, machine.address())).isEqualTo("served\n"));
      assertThat(get(machine, "127.0.0.1")).isEqualTo("served\n");
    }
    assertThat(inside("192.0.2.3", "18080"))
        .as("through the endpoint of a third node")
        .isEqualTo("served\n");
  }

  @Test
  @Order(14)
  void deploymentsStaySeparateBetweenNodes() throws Exception {
    one.agent().ok("up", file(OTHER), "--wait", "90s");
    String address = resolved();

    assertThat(one.agent().cli().run("exec", "other/client/1", "nslookup", "web").code())
        .isNotZero();
    assertThat(ping("mesh", address)).isTrue();
    assertThat(ping("other", address)).isFalse();
    one.agent().ok("down", "other", "--wait", "60s");
  }

  @Test
  @Order(15)
  void theNetworkServesOnWithoutTheAgentOfANode() {
    two.agent().kill();
    assertThat(byName()).isEqualTo("served\n");
    assertThat(get(three, three.address())).isEqualTo("served\n");
    two.agent().restart();
    // a start that outlasts the lease of the node costs its addresses until it has reported
    await().atMost(LIMIT).untilAsserted(() -> assertThat(byName()).isEqualTo("served\n"));
    one.agent().kill();
    assertThat(get(three, one.address())).as("the kernel forwards").isEqualTo("served\n");
    one.agent().restart();
    assertThat(byName()).isEqualTo("served\n");
    assertThat(get(three, one.address())).isEqualTo("served\n");
  }

  @Test
  @Order(16)
  void aNodeThatLeavesKeepsNothingOfTheNetwork() {
    String route = two.program("ip", "-4", "route").stdout();
    assertThat(route).contains("-vx");
    one.agent().ok("down", "mesh", "--wait", "60s");
    await() // each node closes its own when it hears of it
        .atMost(LIMIT)
        .untilAsserted(
            () -> assertThat(get(one, three.address())).as("its endpoint is closed").isEmpty());
    three.agent().ok("cluster", "leave");

    assertThat(three.program("ip", "-4", "route").stdout()).doesNotContain("10.192.");
    assertThat(three.program("ip", "link").stdout()).doesNotContain("-vx");
    assertThat(three.program("nft", "list", "tables").stdout()).doesNotContain("_overlay");
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(two.program("ip", "-4", "route").stdout().lines())
                    .filteredOn(line -> line.contains("-vx"))
                    .as("one peer is left")
                    .hasSize(1));
  }

  /** What the container on one machine gets from the service on another; empty when it fails. */
  private static String byName() {
    String address = resolved();
    return address.isEmpty() ? "" : inside(address, "8080");
  }

  private static String inside(String address, String port) {
    return one.agent().cli().run("exec", "mesh/client/1", "nc", "-w", "5", address, port).out();
  }

  /** What the name of the service stands for; empty when that is unknown. */
  private static String resolved() {
    String answer = one.agent().cli().run("exec", "mesh/client/1", "nslookup", "web").out().strip();
    int found = answer.lastIndexOf("10.192.");
    return found < 0 || answer.substring(found).contains(":53") ? "" : answer.substring(found);
  }

  /** What a machine gets from an endpoint; empty when it fails. */
  private static String get(Machine from, String address) {
    return from.program("busybox", "nc", "-w", "5", address, "18080").stdout();
  }

  private static boolean ping(String deployment, String address) {
    return one.agent()
            .cli()
            .run("exec", deployment + "/client/1", "ping", "-c1", "-W2", address)
            .code()
        == 0;
  }

  private static List<Long> pids(Machine machine) {
    return machine.agent().json("ps", "--json").items().stream()
        .filter(one -> !one.at("node").string().filter(name -> !name.equals("one")).isPresent())
        .map(one -> one.at("pid").integer().orElseThrow())
        .sorted()
        .toList();
  }

  private static String leader() {
    return one.agent().json("cluster", "status", "--json").at("leader").string().orElseThrow();
  }

  private static Machine machine(String name) {
    return Map.of("one", one, "two", two, "three", three).get(name);
  }

  private static String file(String text) throws Exception {
    Path file = directory.resolve("shop.zlayer.yml");
    Files.writeString(file, text);
    return file.toString();
  }

  private static long number(String node) {
    return one.replicas("shop").entrySet().stream()
        .filter(entry -> entry.getValue().equals(node))
        .findFirst()
        .orElseThrow()
        .getKey();
  }

  private static void awaitReady(Machine machine, long count) {
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> {
              Json web =
                  machine
                      .agent()
                      .json("status", "shop", "--json")
                      .at("services")
                      .items()
                      .getFirst();
              assertThat(web.at("state").string()).contains("running");
              assertThat(web.at("ready").integer()).contains(count);
            });
  }
}
