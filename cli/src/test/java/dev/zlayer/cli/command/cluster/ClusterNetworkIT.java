package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.ClusterFixture;
import dev.zlayer.cli.ClusterFixture.Machine;
import dev.zlayer.cli.ExternalEtcdFixture;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
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
 * Three machines whose cluster is kept by an etcd that others run, and encrypts, in the order of
 * the tests: each begins with what the one before left.
 */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.OVERLAYFS, Fact.BUSYBOX},
    programs = {
      "etcd",
      "etcdctl",
      "flock",
      "setsid",
      "ip",
      "bridge",
      "nft",
      "nsenter",
      "busybox",
      "wg",
      "wireguard-go",
      "tcpdump"
    })
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClusterNetworkIT {
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final String PREFIX = "/team-a";

  private static final String FRONT =
      """
      version: v1
      deployment: front
      services:
        web:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "exec nc -ll -p 8080 -e echo served on $WHERE"]
          env: {WHERE: "two"}
          affinity: {pin: id=two}
          update: {min_healthy_time: 0s}
          port_mappings:
            - {host_port: 18090, container_port: 8080}
            - {host_port: 18091, container_port: 8080, host_ip: 127.0.0.1}
        inner:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "exec nc -ll -p 8080 -e echo only for containers"]
          affinity: {pin: id=two}
          update: {min_healthy_time: 0s}
        client:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
          affinity: {pin: id=one}
          update: {min_healthy_time: 0s}
      """;

  private static final String SECRET = "only for containers\n";

  @TempDir static Path directory;
  private static ClusterFixture machines;
  private static ExternalEtcdFixture etcd;
  private static Machine one;
  private static Machine two;
  private static Machine three;

  @BeforeAll
  static void start() throws Exception {
    machines = new ClusterFixture(directory, 3);
    one = machines.machine(1);
    two = machines.machine(2);
    three = machines.machine(3);
    machines.withBusybox("bb:1");
    etcd = new ExternalEtcdFixture(directory.resolve("others"), three, PREFIX);
    Files.writeString(directory.resolve("password"), ExternalEtcdFixture.password() + "\n");
    assertThat(init(one, "one", "/zlayer-a").err()).contains("'/zlayer-a' is not a prefix of keys");
    CliFixture.Result begun = init(one, "one", PREFIX);
    assertThat(begun.code()).as(begun.err()).isZero();
    CliFixture.Result second = init(two, "two", PREFIX);
    assertThat(second.code()).isNotZero();
    assertThat(second.err())
        .contains("already keeps another zlayer cluster with the prefix " + PREFIX, "etcdctl del");
    machines.join(2, "two");
    machines.join(3, "three");
  }

  private static CliFixture.Result init(Machine machine, String name, String prefix) {
    return machine
        .agent()
        .cli()
        .run(
            "cluster",
            "init",
            "--name=" + name,
            "--advertise=" + machine.address(),
            "--encrypt",
            "--etcd=" + etcd.client(),
            "--etcd-prefix=" + prefix,
            "--etcd-ca=" + etcd.authority(),
            "--etcd-cert=" + etcd.certificate(),
            "--etcd-key=" + etcd.key(),
            "--etcd-user=zlayer",
            "--etcd-password-file=" + directory.resolve("password"));
  }

  @AfterAll
  static void stop() {
    if (machines != null) {
      machines.close();
    }
    if (etcd != null) {
      etcd.close();
    }
  }

  @Test
  @Order(1)
  void anEtcdOfOthersKeepsTheStateAndNoNodeStartsOne() {
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(two.nodes())
                    .containsExactlyInAnyOrder("one ready", "two ready", "three ready"));
    // a node that has just joined may not have told its key for encrypted packets yet
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(two.agent().json("cluster", "status", "--json").at("problem").string())
                    .isEmpty());
    Json status = two.agent().json("cluster", "status", "--json");
    Json server = status.at("servers").items().getFirst();
    assertThat(server.at("name").string()).contains("external");
    assertThat(server.at("address").string()).contains(three.address() + ":2379");
    assertThat(server.at("problem").string()).isEmpty();
    for (Machine machine : List.of(one, two, three)) {
      assertThat(machine.etcd()).doesNotExist();
    }
    assertThat(keys()).isNotEmpty().allMatch(key -> key.startsWith(PREFIX + "/zlayer"));
    assertThat(one.agent().ok("cluster", "rotate-certs")).contains("one: valid", "three: valid");
  }

  @Test
  @Order(2)
  void itIsBackedUpByItsSnapshotAndRestoredWithItsOwnTools() throws Exception {
    Path copy = directory.resolve("copy.db");
    CliFixture.Result refused = two.agent().cli().run("cluster", "backup", copy.toString());
    assertThat(refused.code()).isNotZero();
    assertThat(refused.err()).contains("permission denied");
    etcd.ctl("user", "grant-role", "zlayer", "root");
    two.agent().ok("cluster", "backup", copy.toString());
    assertThat(Files.size(copy)).isPositive();
    CliFixture.Result restored =
        one.agent().cli().run("cluster", "restore", copy.toString(), "--force");
    assertThat(restored.code()).isNotZero();
    assertThat(restored.err()).contains("an etcd that others run", "etcdctl snapshot restore");
    assertThat(one.nodes()).contains("one ready");
  }

  @Test
  @Order(3)
  void aHostPortOfAReplicaIsReachedOnAllNodes() throws Exception {
    one.agent().ok("up", file(FRONT), "--wait", "90s");

    reached("two");
  }

  @Test
  @Order(4)
  void containersOfDifferentNodesTalkEncrypted() throws Exception {
    awaitSecret();
    Path packets = directory.resolve("packets");
    String plain = "served on two\n";
    var sniffer =
        new ProcessBuilder(
                "nsenter",
                "--net=/run/netns/" + one.namespace(),
                "tcpdump",
                "-Z",
                "root",
                "-U",
                "-i",
                "eth0",
                "-w",
                packets.toString())
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("tcpdump.log").toFile())
            .start();
    try {
      // what a client outside of the containers says is not encrypted: so much is seen
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () -> {
                assertThat(get(one, two.address(), 18090)).isEqualTo(plain);
                assertThat(seen(packets)).contains(plain);
              });
      for (int i = 0; i < 3; i++) {
        assertThat(secret()).isEqualTo(SECRET);
      }
      await()
          .atMost(LIMIT)
          .untilAsserted(() -> assertThat(captured(packets, "51820")).hasSizeGreaterThan(3));
      assertThat(captured(packets, "8472")).as("packets of VXLAN").isEmpty();
      assertThat(seen(packets)).doesNotContain(SECRET.strip());
    } finally {
      sniffer.destroyForcibly().waitFor();
    }
    assertThat(one.agent().ok("cluster", "status")).contains("encrypted");
  }

  /** In the kernel of this machine or in a program, whatever there is. */
  @Test
  @Order(5)
  void encryptionOutlivesItsProgramAndTheAgent() {
    killedProgramsAreStartedAgain();
    awaitSecret();
    two.agent().kill();
    killedProgramsAreStartedAgain();
    awaitSecret();
    two.agent().restart();
    awaitSecret();
  }

  private static void killedProgramsAreStartedAgain() {
    if (two.program("ip", "-d", "link", "show", device(two)).stdout().contains("wireguard")) {
      assertThat(programs(two)).as("the kernel does it").isEmpty();
      return;
    }
    // one that was killed a moment ago may not be back yet
    await().atMost(LIMIT).untilAsserted(() -> assertThat(programs(two)).hasSize(1));
    ProcessHandle killed = programs(two).getFirst();
    assertThat(killed.destroyForcibly()).isTrue();
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(programs(two)).hasSize(1).doesNotContain(killed));
  }

  /** The keys of interfaces, and those that the others know. */
  @Test
  @Order(6)
  void keysAreReplacedWithCertificates() {
    List<Machine> all = List.of(one, two, three);
    await().atMost(LIMIT).untilAsserted(() -> assertPeersKnow(all));
    List<String> before = all.stream().map(ClusterNetworkIT::publicKey).toList();
    one.agent().ok("cluster", "rotate-certs");
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> {
              assertThat(all)
                  .extracting(ClusterNetworkIT::publicKey)
                  .doesNotContainAnyElementsOf(before);
              assertPeersKnow(all);
            });
    awaitSecret();
    // packets went by the new keys: the node at the other end has answered to this one
    String peer = publicKey(one);
    assertThat(keys(two, "latest-handshakes"))
        .anyMatch(line -> line.startsWith(peer) && !line.endsWith("\t0"));
  }

  private static void assertPeersKnow(List<Machine> all) {
    for (Machine machine : all) {
      List<String> others =
          all.stream().filter(other -> other != machine).map(ClusterNetworkIT::publicKey).toList();
      assertThat(keys(machine, "peers")).containsExactlyInAnyOrderElementsOf(others);
    }
  }

  private static String publicKey(Machine machine) {
    List<String> found = keys(machine, "public-key");
    assertThat(found).as("the interface is there").hasSize(1);
    return found.getFirst();
  }

  private static List<String> keys(Machine machine, String what) {
    return machine.program("wg", "show", device(machine), what).stdout().lines().toList();
  }

  private static String device(Machine machine) {
    return machine.agent().prefix() + "-vx";
  }

  @Test
  @Order(7)
  void aHostPortMovesWithItsReplica() throws Exception {
    one.agent().ok("up", file(FRONT.replace("two", "three")), "--wait", "90s");
    reached("three");
    one.agent().ok("down", "front", "--wait", "60s");
    for (Machine machine : List.of(one, two, three)) {
      await()
          .atMost(LIMIT)
          .untilAsserted(() -> assertThat(get(one, machine.address(), 18090)).isEmpty());
    }
  }

  private static void awaitSecret() {
    await().atMost(LIMIT).untilAsserted(() -> assertThat(secret()).isEqualTo(SECRET));
  }

  /** What a container on one node gets from one on another. */
  private static String secret() {
    return one.agent().cli().run("exec", "front/client/1", "nc", "-w", "5", "inner", "8080").out();
  }

  private static String seen(Path packets) throws Exception {
    return Files.exists(packets) ? Files.readString(packets, StandardCharsets.ISO_8859_1) : "";
  }

  private static List<String> captured(Path packets, String port) {
    return one.program("tcpdump", "-n", "-r", packets.toString(), "udp", "port", port)
        .stdout()
        .lines()
        .toList();
  }

  /** Those that stand for the kernel's WireGuard on a machine. */
  private static List<ProcessHandle> programs(Machine machine) {
    return ProcessHandle.allProcesses()
        .filter(
            process ->
                process
                    .info()
                    .commandLine()
                    .filter(line -> line.endsWith("wireguard-go -f " + device(machine)))
                    .isPresent())
        .toList();
  }

  private static void reached(String node) {
    String answer = "served on %s\n".formatted(node);
    for (Machine machine : List.of(one, two, three)) {
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () -> {
                assertThat(get(one, machine.address(), 18090)).isEqualTo(answer);
                assertThat(get(machine, "127.0.0.1", 18091)).isEqualTo(answer);
              });
      assertThat(get(machine, machine.address(), 18091)).as("only on loopback").isEmpty();
    }
  }

  @Test
  @Order(9)
  void theLastNodeThatLeavesLeavesNothing() {
    three.agent().ok("cluster", "leave");
    two.agent().ok("cluster", "leave");
    etcd.ctl("put", "/of-others", "kept");
    one.agent().ok("cluster", "leave");

    assertThat(keys()).containsExactly("/of-others");
    for (Machine machine : List.of(one, two, three)) {
      await().atMost(LIMIT).untilAsserted(() -> assertThat(programs(machine)).isEmpty());
      assertThat(machine.program("ip", "link").stdout()).doesNotContain("-vx");
    }
  }

  private static List<String> keys() {
    var keys = new ArrayList<>(etcd.ctl("get", "", "--prefix", "--keys-only").lines().toList());
    keys.removeIf(String::isBlank);
    return keys;
  }

  /** What a machine gets from a port; empty when it fails. */
  private static String get(Machine from, String address, int port) {
    return from.program("busybox", "nc", "-w", "5", address, Integer.toString(port)).stdout();
  }

  private static String file(String text) throws Exception {
    Path file = directory.resolve("front.zlayer.yml");
    Files.writeString(file, text);
    return file.toString();
  }
}
