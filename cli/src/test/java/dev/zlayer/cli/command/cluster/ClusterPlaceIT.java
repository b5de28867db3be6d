package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cli.ClusterFixture;
import dev.zlayer.cli.ClusterFixture.Machine;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FakeGpuDriver;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * What the leader decides beside the node of a replica: its GPUs, its role, its turn. Three
 * machines, of which the second has one GPU and the third two, on drivers made for it; the third
 * joins late.
 */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.OVERLAYFS, Fact.BUSYBOX},
    programs = {"curl", "etcd", "flock", "setsid", "ip", "bridge", "nft", "nsenter", "busybox"})
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClusterPlaceIT {
  private static final Duration LIMIT = Duration.ofSeconds(90);

  /** Three GPUs are wanted, and two machines have one of them together. */
  private static final String TRAIN =
      """
      version: v1
      deployment: lab
      services:
        train:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
          scale: {mode: fixed, replicas: 3}
          resources: {gpu: {count: 1, model: H200, scheduling: gang, distributed: {backend: gloo}}}
          update: {min_healthy_time: 0s}
      """;

  private static final String ROLES =
      """
      version: v1
      deployment: lab
      services:
        web:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
          env: {PART: none}
          update: {min_healthy_time: 0s}
          replica_groups:
            - {role: front, count: 2, env: {PART: front}}
            - {role: back, count: 1, env: {PART: back}, affinity: pack}
      """;

  /** No node runs the service; a node that has the label would run the job. */
  private static final String FOREIGN =
      """
      version: v1
      deployment: lab
      services:
        web:
          image: {name: "bb:1", pull_policy: never}
          platform: {os: windows, arch: amd64}
        far:
          rtype: job
          image: {name: "bb:1", pull_policy: never}
          platform: {os: windows, arch: amd64}
        near:
          rtype: job
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "echo ran on $HOSTNAME"]
          node_selector: {labels: {zone: near}}
      """;

  /** On different machines: each begins when those before it are there. */
  private static final String CHAIN =
      """
      version: v1
      deployment: lab
      services:
        db:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
          affinity: {pin: id=one}
          update: {min_healthy_time: 0s}
        migrate:
          rtype: job
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "exit CODE"]
          depends: [db]
          affinity: {pin: id=two}
        web:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
          depends: [{service: migrate, condition: completed, timeout: 60s}]
          affinity: {pin: id=three}
          update: {min_healthy_time: 0s}
        fetch:
          rtype: job
          image: {name: "bb:1", pull_policy: never}
          command: [echo, fetched]
        report:
          rtype: job
          image: {name: "bb:1", pull_policy: never}
          command: [echo, reported]
          job: {needs: [fetch]}
      """;

  /** Each replica uses all of the little that it may. */
  private static final String BUSY =
      """
      version: v1
      deployment: lab
      services:
        web:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "while :; do :; done"]
          resources: {cpu: 0.05}
          scale: {mode: adaptive, min: 1, max: 2, cooldown: 1s, targets: {cpu: 50}}
          update: {min_healthy_time: 0s}
      """;

  private static final String DATA =
      """
      version: v1
      deployment: lab
      services:
        db:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "ls /data; echo written >/data/file; trap 'exit 0' TERM; sleep 1000 & wait"]
          affinity: {pin: id=NODE}
          scale: {mode: manual, replicas: 1}
          storage: [{type: named, name: data, target: /data}]
          update: {min_healthy_time: 0s}
      """;

  private static final String DRIVER = "580.159.04";

  @TempDir static Path directory;
  private static ClusterFixture machines;
  private static Machine one;
  private static Machine two;
  private static Machine three;

  @BeforeAll
  static void start() {
    machines = new ClusterFixture(directory, 3, ClusterPlaceIT::driver);
    one = machines.machine(1);
    two = machines.machine(2);
    three = machines.machine(3);
    machines.withBusybox("bb:1");
    machines.form("one", "two");
  }

  private static String driver(int machine) {
    return machine == 1
        ? ""
        : "gpu_driver_root: %s\n"
            .formatted(FakeGpuDriver.install(driverRoot(machine), DRIVER, machine - 1).root());
  }

  private static Path driverRoot(int machine) {
    return directory.resolve("driver" + machine);
  }

  @AfterAll
  static void stop() {
    if (machines != null) {
      machines.close();
    }
  }

  private static String file(String text) throws Exception {
    Path file = directory.resolve("lab.zlayer.yml");
    Files.writeString(file, text);
    return file.toString();
  }

  @Test
  @Order(1)
  void whatFitsNowhereFailsWithBothRemediesAndIsPlacedWhenANodeJoins() throws Exception {
    var refused = one.agent().cli().run("up", file(TRAIN), "--wait", "60s");
    assertThat(refused.code()).isNotZero();
    assertThat(refused.err() + refused.out())
        .contains("without 1 matching free GPUs")
        .contains("free GPUs on a node, or add a node that has them to the cluster")
        .contains("all 3 missing replicas of 'lab/train' are placed together");
    assertThat(two.agent().ok("status", "lab")).contains("matching free GPUs");
    assertThat(one.replicas("lab")).isEmpty();

    machines.join(3, "three");
    two.agent().ok("up", file(TRAIN), "--wait", "90s");
    assertThat(one.replicas("lab").values()).containsExactlyInAnyOrder("two", "three", "three");
  }

  @Test
  @Order(2)
  void everyReplicaHasTheGpuThatWasPlacedAndKnowsTheOthers() {
    var seen = new ArrayList<String>();
    one.replicas("lab")
        .forEach(
            (number, node) -> {
              String inside =
                  one.agent()
                      .ok(
                          "exec",
                          "lab/train/" + number,
                          "sh",
                          "-c",
                          "ls /dev | grep nvidia[0-9]; echo $RANK of $WORLD_SIZE $MASTER_ADDR");
              assertThat(inside).contains("%d of 3 1.train".formatted(number - 1));
              seen.add(node + " " + inside.lines().findFirst().orElseThrow());
            });
    assertThat(seen).containsExactlyInAnyOrder("two nvidia0", "three nvidia0", "three nvidia1");
    assertThat(three.agent().ok("gpu", "ls")).contains("lab/train/");
    await() // names of other nodes follow their reports
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(
                        one.agent().cli().run("exec", "lab/train/3", "nslookup", "1.train").out())
                    .contains("10.192."));
    one.agent().ok("down", "lab", "--wait", "60s");
    FakeGpuDriver.addGpu(driverRoot(2), 1);
  }

  @Test
  @Order(3)
  void rolesArePlacedByThemselves() throws Exception {
    one.agent().ok("up", file(ROLES), "--wait", "90s");
    assertThat(one.agent().ok("status", "lab")).contains("3/3");
    for (String replica : List.of("front/1", "front/2", "back/1")) {
      assertThat(two.agent().ok("exec", "lab/web/" + replica, "sh", "-c", "echo $PART").strip())
          .isEqualTo(replica.substring(0, replica.indexOf('/')));
    }
    one.agent().ok("down", "lab", "--wait", "60s");
  }

  @Test
  @Order(4)
  void whatNoNodeCanRunNamesBothRemedies() throws Exception {
    String remedies =
        "enable the docker runtime with an engine for windows on a node, or add a peer that runs"
            + " windows to the cluster";
    var refused = one.agent().cli().run("up", file(FOREIGN), "--wait", "60s");
    assertThat(refused.code()).isNotZero();
    assertThat(refused.err() + refused.out())
        .contains("needs a node that runs windows")
        .contains(remedies);
    assertThat(three.agent().ok("status", "lab")).contains(remedies);

    String far = two.agent().ok("job", "run", "lab/far").strip();
    String near = two.agent().ok("job", "run", "lab/near").strip();
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> {
              assertThat(three.agent().ok("job", "status", far)).contains("pending", remedies);
              assertThat(one.agent().ok("job", "status", near))
                  .contains("label a node, or add a node with these labels to the cluster");
            });
    one.agent().ok("node", "label", "three", "zone=near");
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> assertThat(two.agent().ok("job", "status", near)).contains("completed"));
    assertThat(two.agent().ok("job", "run", "--wait", "lab/near")).contains("ran on");
    two.agent().ok("job", "cancel", far);
    one.agent().ok("down", "lab", "--wait", "60s");
  }

  @Test
  @Order(5)
  void servicesAndJobsWaitForOthersOnAnyNode() throws Exception {
    for (int run = 1; run <= 2; run++) { // the same file once more is another try
      var failed = one.agent().cli().run("up", file(CHAIN.replace("CODE", "3")), "--wait", "60s");
      assertThat(failed.code()).isNotZero();
      assertThat(failed.err() + failed.out())
          .contains("it depends on 'migrate' to be completed, which failed: exit code 3");
      assertThat(three.agent().ok("job", "status", "lab/migrate/" + run)).contains("failed");
    }
    one.agent().ok("up", file(CHAIN.replace("CODE", "0")), "--wait", "90s");
    assertThat(two.agent().ok("job", "status", "lab/migrate/3")).contains("completed");
    assertThat(two.agent().ok("ps", "lab")).contains("lab/db/1", "lab/web/1", "one", "three");

    assertThat(three.agent().ok("job", "run", "--wait", "lab/report")).contains("reported");
    assertThat(one.agent().ok("job", "status", "lab/fetch/1")).contains("completed");
    one.agent().ok("down", "lab", "--wait", "60s");
  }

  @Test
  @Order(6)
  void theLoadOfAllNodesDecidesHowManyReplicasThereAre() throws Exception {
    one.agent().ok("up", file(BUSY), "--wait", "60s");
    await().atMost(LIMIT).untilAsserted(() -> assertThat(two.replicas("lab")).hasSize(2));
    assertThat(one.replicas("lab").values()).doesNotHaveDuplicates();
    one.agent().ok("down", "lab", "--wait", "60s");
  }

  @Test
  @Order(7)
  void aVolumeThatIsRemovedOnItsNodeIsMadeAnewOnAnother() throws Exception {
    one.agent().ok("up", file(DATA.replace("NODE", "one")), "--wait", "60s");
    var refused = two.agent().cli().run("volume", "rm", "--node", "one", "data");
    assertThat(refused.code()).isNotZero();
    assertThat(refused.err()).contains("'data' is used by 'lab/db', which is placed on this node");

    one.agent().ok("scale", "lab/db=0");
    await().atMost(LIMIT).until(() -> one.replicas("lab").isEmpty());
    assertThat(one.agent().ok("volume", "prune")).doesNotContain("data");
    assertThat(one.agent().ok("volume", "ls", "--quiet")).contains("data");
    two.agent().ok("volume", "rm", "--node", "one", "data");
    assertThat(two.agent().cli().run("volume", "rm", "--node", "one", "data").err())
        .contains("volume 'data'");

    one.agent().ok("up", file(DATA.replace("NODE", "two")));
    one.agent().ok("scale", "lab/db=1");
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(one.replicas("lab").values()).containsExactly("two"));
    assertThat(two.agent().ok("volume", "ls", "--quiet")).contains("data");
    one.agent().ok("down", "lab", "--volumes", "--wait", "60s");
  }

  @Test
  @Order(8)
  void aGpuThatWasAddedIsUsedWithoutARestart() throws Exception {
    // it was added at the end of the second test, and nodes read again what they have
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(
                        one.agent()
                            .json("node", "inspect", "two")
                            .items()
                            .getFirst()
                            .at("gpus")
                            .items())
                    .hasSize(2));
    one.agent().ok("up", file(TRAIN.replace("replicas: 3", "replicas: 4")), "--wait", "90s");
    assertThat(one.replicas("lab").values())
        .containsExactlyInAnyOrder("two", "two", "three", "three");
    one.agent().ok("down", "lab", "--wait", "60s");
  }
}
