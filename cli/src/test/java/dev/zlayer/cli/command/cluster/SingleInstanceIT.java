package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.ClusterFixture;
import dev.zlayer.cli.ClusterFixture.Machine;
import dev.zlayer.host.linux.BootClock;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * A container of which never two may run, on three machines that fail in different ways, in the
 * order of the tests. It writes down when it runs, where all machines can write.
 */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.OVERLAYFS, Fact.BUSYBOX},
    programs = {"curl", "etcd", "flock", "setsid", "ip", "bridge", "nft", "nsenter", "busybox"})
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class SingleInstanceIT {
  private static final Duration LIMIT = Duration.ofSeconds(120);

  /** Instead of 20, and so 14 instead of 35 for the others. */
  private static final int STOP = 8;

  private static final Duration OUTAGE = Duration.ofSeconds(14);
  private static final double TAKEOVER = STOP * 7 / 4.0;

  @TempDir static Path directory;
  private static ClusterFixture machines;
  private static Path shared;

  @BeforeAll
  static void start() throws Exception {
    machines = new ClusterFixture(directory, 3, _ -> "cluster_claim_seconds: %d\n".formatted(STOP));
    shared = Files.createDirectory(directory.resolve("shared"));
    machines.withBusybox("bb:1");
    machines.form("n1", "n2", "n3");
    Path file = directory.resolve("solo.zlayer.yml");
    Files.writeString(
        file,
        """
        version: v1
        deployment: solo
        services:
          one:
            image: {name: "bb:1", pull_policy: never}
            single_instance: true
            command: [sh, -c, '%s']
            storage: [{type: bind, source: %s, target: /shared}]
            update: {min_healthy_time: 0s}
          run:
            rtype: cron
            schedule: "@every 1s"
            image: {name: "bb:1", pull_policy: never}
            command: [sh, -c, '%s']
            storage: [{type: bind, source: %s, target: /shared}]
          slow:
            rtype: job
            image: {name: "bb:1", pull_policy: never}
            command: [sh, -c, "touch /shared/slow; sleep 5; echo done"]
            storage: [{type: bind, source: %s, target: /shared}]
        """
            .formatted(
                InstanceLog.writer("/shared/one"),
                shared,
                InstanceLog.writer("/shared/run"),
                shared,
                shared));
    machines.machine(1).agent().ok("up", file.toString(), "--wait", "90s");
  }

  @AfterAll
  static void stop() {
    if (machines != null) {
      machines.close();
    }
  }

  @AfterEach
  void neverTwo() {
    assertThat(log("one").overlaps()).isEmpty();
    assertThat(log("run").overlaps()).isEmpty();
  }

  @Test
  @Order(1)
  void anAgentThatIsReplacedKeepsIt() {
    String before = running("one");
    Machine owner = machines.machine(owner());
    long began = BootClock.millis();
    owner.agent().kill();
    owner.agent().restart();
    String after = running("one");
    if (BootClock.millis() - began < STOP * 500L) { // else it had to end
      assertThat(after).isEqualTo(before);
    }
  }

  @Test
  @Order(2)
  void itStopsWhenItsMachineIsCutOffAndTheAgentThereWasKilled() {
    String before = running("one");
    int lost = owner();
    double cut = BootClock.millis() / 1000.0;
    machines.cable(lost, false);
    machines.machine(lost).agent().kill();
    try {
      String after = awaitNew("one", before);
      // both times count from the last renewal, which may be some seconds older than the cut
      assertThat(first(after))
          .isGreaterThan(cut + TAKEOVER - STOP)
          .isGreaterThan(last(before) + (TAKEOVER - STOP) / 2);
      machines.machine(lost).agent().restart();
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () ->
                  assertThat(machines.machine(lost).agent().ok("events", "--json"))
                      .contains("stopped: its node lost the cluster for 8s"));
    } finally {
      machines.cable(lost, true);
    }
    awaitReady(lost);
  }

  @Test
  @Order(3)
  void itStopsWhenTheAgentHangs() {
    String before = running("one");
    int lost = owner();
    long pid =
        machines
            .machine(lost)
            .agent()
            .json("daemon", "status", "--json")
            .at("pid")
            .integer()
            .orElseThrow();
    machines.machine(lost).program("kill", "-STOP", Long.toString(pid));
    try {
      awaitNew("one", before);
    } finally {
      machines.machine(lost).program("kill", "-CONT", Long.toString(pid));
    }
    awaitReady(lost);
  }

  @Test
  @Order(4)
  void aRunOfAScheduleBlocksTheNextOneUntilItHasEnded() {
    String before = running("run");
    int lost = runner();
    machines.cable(lost, false);
    try {
      awaitNew("run", before);
    } finally {
      machines.cable(lost, true);
    }
    awaitReady(lost);
    running("one");
  }

  @Test
  @Order(5)
  void aMajorityThatIsLostDuringATakeoverOnlyDelaysIt() throws Exception {
    String before = running("one");
    int lost = owner();
    int other = lost % 3 + 1;
    machines.cable(lost, false);
    machines.machine(lost).agent().kill();
    try {
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () ->
                  assertThat(machines.machine(other).nodes()).contains("n%d lost".formatted(lost)));
      try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
        Future<CliFixture.Result> followed =
            pool.submit(
                () ->
                    machines.machine(other).agent().cli().run("job", "run", "--wait", "solo/slow"));
        await().atMost(LIMIT).until(() -> Files.exists(shared.resolve("slow")));
        signalMember(other, "STOP");
        try {
          long began = BootClock.millis();
          // it had 8 seconds, and who began meanwhile has them, too; one reading waits for 10
          await()
              .atMost(LIMIT)
              .until(() -> !runs("one") && BootClock.millis() > began + OUTAGE.toMillis());
        } finally {
          signalMember(other, "CONT");
        }
        assertThat(followed.get(LIMIT.toSeconds(), TimeUnit.SECONDS))
            .satisfies(
                result -> assertThat(result.code()).as(result.err()).isZero(),
                result -> assertThat(result.out()).contains("done"));
      }
      awaitNew("one", before);
    } finally {
      machines.cable(lost, true);
      machines.machine(lost).agent().restart();
    }
    awaitReady(lost);
    running("one");
  }

  private static void signalMember(int number, String signal) {
    Machine machine = machines.machine(number);
    machine.program("kill", "-" + signal, Long.toString(machine.member().pid()));
  }

  private static boolean runs(String name) {
    return log(name)
        .newest()
        .filter(one -> one.last() > BootClock.millis() / 1000.0 - 2)
        .isPresent();
  }

  private static InstanceLog log(String name) {
    return InstanceLog.read(shared.resolve(name));
  }

  private static double first(String id) {
    return instance(id).first();
  }

  private static double last(String id) {
    return instance(id).last();
  }

  private static InstanceLog.Instance instance(String id) {
    return log("one").instances().stream()
        .filter(one -> one.id().equals(id))
        .findFirst()
        .orElseThrow();
  }

  /** The one that runs now; waits for it. */
  private static String running(String name) {
    return awaitNew(name, "");
  }

  private static String awaitNew(String name, String before) {
    return await()
        .atMost(LIMIT)
        .until(
            () ->
                log(name)
                    .newest()
                    .filter(one -> !one.id().equals(before))
                    .filter(one -> one.last() > BootClock.millis() / 1000.0 - 1)
                    .map(InstanceLog.Instance::id)
                    .orElse(""),
            id -> !id.isEmpty());
  }

  /** The number of the machine that runs it, as the first one sees it. */
  private static int owner() {
    return await()
        .atMost(LIMIT)
        .until(
            () ->
                machines.machine(1).agent().json("ps", "solo", "--json").items().stream()
                    .filter(one -> one.at("service").string().equals(Optional.of("one")))
                    .filter(one -> one.at("state").string().equals(Optional.of("running")))
                    .flatMap(one -> one.at("node").string().stream())
                    .findFirst()
                    .map(node -> Integer.parseInt(node.substring(1)))
                    .orElse(0),
            number -> number > 0);
  }

  private static int runner() {
    return await()
        .atMost(LIMIT)
        .until(
            () ->
                machines
                    .machine(1)
                    .agent()
                    .json("job", "history", "solo/run", "--json")
                    .items()
                    .stream()
                    .filter(run -> run.at("status").string().equals(Optional.of("running")))
                    .flatMap(run -> run.at("node").string().stream())
                    .findFirst()
                    .map(node -> Integer.parseInt(node.substring(1)))
                    .orElse(0),
            number -> number > 0);
  }

  private static void awaitReady(int number) {
    Machine other = machines.machine(number == 1 ? 2 : 1);
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(other.nodes())
                    .containsExactlyInAnyOrderElementsOf(
                        List.of("n1 ready", "n2 ready", "n3 ready")));
  }
}
