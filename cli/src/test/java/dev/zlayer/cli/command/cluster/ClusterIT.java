package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.ClusterFixture;
import dev.zlayer.cli.ClusterFixture.Machine;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * One cluster of three machines from its beginning to its end, in the order of the tests: each
 * begins with what the one before left.
 */
@Requires(
    value = Fact.ROOT,
    programs = {"etcd", "etcdctl", "flock", "setsid", "ip", "nsenter", "curl"})
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClusterIT {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final String[] ALL = {"one ready", "three ready", "two ready"};

  @TempDir static Path directory;
  private static ClusterFixture machines;
  private static Machine one;
  private static Machine two;
  private static Machine three;

  @BeforeAll
  static void start() {
    // a restore waits until single instances have ended
    machines = new ClusterFixture(directory, 3, _ -> "cluster_claim_seconds: 4\n");
    one = machines.machine(1);
    two = machines.machine(2);
    three = machines.machine(3);
  }

  @AfterAll
  static void stop() {
    machines.close();
  }

  @Test
  @Order(1)
  void aNodeOutsideOfAnyClusterSaysSo() {
    refused(one, "this node is in no cluster", "node", "ls");
    refused(one, "this node is in no cluster", "cluster", "status");
    refused(
        two, "not a join token", "cluster", "join", one.address(), "--token", "x", "--name", "two");
    refused(two, "--token is missing", "cluster", "join", one.address());
    refused(
        one, "is not an address of this machine", "cluster", "init", "--advertise", "192.0.2.9");
  }

  @Test
  @Order(2)
  void nodesJoinWithATokenEach() {
    Json first =
        one.agent()
            .json("cluster", "init", "--name", "one", "--advertise", one.address(), "--json");
    assertThat(first.at("command").string().orElseThrow())
        .startsWith("zlayer cluster join 192.0.2.1 --token zljoin-");
    awaitNodes(one, "one ready");
    refused(one, "in a cluster already", "cluster", "init", "--advertise", one.address());
    String token = first.at("token").string().orElseThrow();

    refused(
        two,
        "not of the cluster that the token is for",
        join(one, otherAuthority(token), "two", two));
    refused(two, "there is a node 'one' already", join(one, token, "one", two));
    refused(
        two,
        "is not an address; write that of a node",
        "cluster",
        "join",
        "https://192.0.2.1",
        "--token",
        token,
        "--advertise",
        two.address());
    assertThat(two.agent().ok(join(one, token, "two", two))).isEqualTo("node 'two' joined\n");
    refused(three, "unknown, was used, or has expired", join(one, token, "three", three));
    assertThat(three.agent().ok(join(two, token(two), "three", three)))
        .isEqualTo("node 'three' joined\n");

    for (Machine machine : List.of(one, two, three)) {
      awaitNodes(machine, ALL);
    }
    awaitRoles();
    assertThat(JsonText.print(one.agent().json("node", "inspect", "two")))
        .contains("\"address\":\"192.0.2.2\"", "\"runtimes\":[");
  }

  /** Only its owner reads the keys of a node. */
  @Test
  @Order(3)
  void keysArePrivate() throws Exception {
    Path files = one.etcd().resolveSibling(".").normalize();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(files)))
        .isEqualTo("rwx------");
    for (String name : List.of("node.key", "ca.key")) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(files.resolve(name))))
          .isEqualTo("rw-------");
    }
  }

  @Test
  @Order(4)
  void labelsAreSeenOnEveryNode() {
    one.agent().ok("node", "label", "three", "disk=ssd", "zone=a");
    two.agent().ok("node", "label", "three", "zone-");

    assertThat(
            three
                .agent()
                .json("node", "inspect", "three")
                .items()
                .getFirst()
                .at("labels")
                .stringMap())
        .containsOnly(java.util.Map.entry("disk", "ssd"));
    refused(one, "is not a label", "node", "label", "three", "zone");
    refused(one, "node 'four' not found", "node", "label", "four", "a=b");
  }

  /** Nodes are told what changes. */
  @Test
  @Order(4)
  void anIdleClusterAsksLittleOfEtcd() {
    long before = requests();
    Instant from = Instant.now();
    await()
        .pollDelay(Duration.ofSeconds(5))
        .until(() -> from.plusSeconds(5).isBefore(Instant.now()));
    double perSecond =
        (requests() - before) * 1000.0 / Duration.between(from, Instant.now()).toMillis();

    assertThat(perSecond).isLessThan(9);
  }

  private static long requests() {
    return one.requests() + two.requests() + three.requests();
  }

  @Test
  @Order(5)
  void anAgentThatIsKilledCostsNoMajorityAndComesBack() {
    ProcessHandle member = two.member();

    two.agent().kill();
    awaitNodes(one, "one ready", "three ready", "two lost");
    assertThat(member.isAlive()).isTrue();
    awaitRoles();

    two.agent().restart();
    awaitNodes(one, ALL);
    assertThat(two.member()).isEqualTo(member);
  }

  @Test
  @Order(6)
  void theOthersContinueWhenALeaderIsKilledAndItIsStartedAgain() {
    Machine leader =
        List.of(one, two, three).stream()
            .filter(machine -> role(machine).equals("leader"))
            .findFirst()
            .orElseThrow();
    ProcessHandle killed = leader.member();
    killed.destroyForcibly();

    await()
        .atMost(LIMIT)
        .until(() -> one.agent().cli().run("node", "label", "one", "after=kill").code() == 0);
    await()
        .atMost(LIMIT)
        .ignoreException(NoSuchElementException.class) // between the old and the new one
        .until(() -> !leader.member().equals(killed));
    awaitRoles();
    awaitNodes(one, ALL);
  }

  @Test
  @Order(7)
  void aNodeThatIsCutOffIsLostAndDecidesNothing() {
    machines.cable(3, false);
    try {
      // it still counts as alive for some seconds
      CliFixture.Result listed = one.agent().cli().run("ps", "--json");
      assertThat(listed.code()).as(listed.err()).isZero();
      assertThat(listed.err()).contains("node 'three' did not answer");
      assertThat(JsonText.parse(listed.out()).items()).isEmpty();
      refused(one, "these did not answer: three", "inspect", "nowhere");
      awaitNodes(one, "one ready", "three lost", "two ready");
      assertThat(three.agent().json("cluster", "status", "--json").at("unreachable").string())
          .isPresent();
      assertThat(three.agent().cli().run("node", "label", "one", "from=three").code()).isEqualTo(4);
    } finally {
      machines.cable(3, true);
    }
    awaitNodes(one, ALL);
    assertThat(JsonText.print(one.agent().json("node", "inspect", "one"))).doesNotContain("from");
  }

  @Test
  @Order(8)
  void aLostMajorityIsReplacedByTheStateOfOneNodeOrABackup() {
    Path backup = directory.resolve("backup");
    one.agent().ok("cluster", "backup", backup.toString());
    one.agent().ok("node", "label", "one", "since=backup");
    refused(one, "the cluster answers", "cluster", "restore", backup.toString());
    two.agent().ok("cluster", "leave", "--force");
    three.agent().ok("cluster", "leave", "--force");
    assertThat(one.agent().cli().run("node", "label", "one", "x=y").code()).isEqualTo(4);

    one.agent().ok("cluster", "restore");
    awaitNodes(one, "one ready", "three lost", "two lost");
    assertThat(labels(one, "one")).containsEntry("since", "backup");

    refused(one, "etcdctl cannot restore from it", "cluster", "restore", "--force", notABackup());
    awaitNodes(one, "one ready", "three lost", "two lost");
    one.agent().ok("cluster", "restore", "--force", backup.toString());
    awaitNodes(one, "one ready", "three lost", "two lost");
    assertThat(labels(one, "one")).doesNotContainKey("since").containsEntry("after", "kill");

    one.agent().ok("node", "rm", "two", "three");
    two.agent().ok(join(one, token(one), "two", two));
    three.agent().ok(join(one, token(one), "three", three));
    awaitNodes(one, ALL);
    awaitRoles();
  }

  private static String notABackup() {
    return one.agent().directory().resolve("data/state.db").toString();
  }

  private static java.util.Map<String, String> labels(Machine machine, String node) {
    return machine
        .agent()
        .json("node", "inspect", node)
        .items()
        .getFirst()
        .at("labels")
        .stringMap();
  }

  @Test
  @Order(9)
  void aLostNodeIsRemovedAndALiveOneLeaves() {
    awaitNodes(one, ALL);
    refused(one, "node 'three' is alive", "node", "rm", "three");
    ProcessHandle member = three.member();
    three.agent().ok("cluster", "leave");

    assertThat(member.isAlive()).isFalse();
    assertThat(three.etcd().getParent()).doesNotExist();
    awaitNodes(one, "one ready", "two ready");
    refused(three, "this node is in no cluster", "node", "ls");
    // it comes back as another node, which stores nothing
    String joining =
        "{\"through\":\"%s\",\"token\":\"%s\",\"name\":\"three\",\"advertise\":\"%s\",\"server\":false}"
            .formatted(one.address(), token(one), three.address());
    assertThat(
            three.ask(ClusterFixture.TOKEN, "/cluster/join", "--json", joining, "-o", "/dev/null"))
        .isEqualTo("200");

    awaitNodes(one, ALL);
    awaitRoles("leader", "follower");
  }

  /** Keys and certificates change while agents and etcd run on. */
  @Test
  @Order(10)
  void certificatesAreReplacedWithoutARestart() throws Exception {
    var replaced = new HashMap<Machine, Path>();
    for (Machine machine : List.of(one, two, three)) {
      replaced.put(machine, machine.copyKeys(directory.resolve("replaced-" + machine.namespace())));
    }
    List<ProcessHandle> members = List.of(one.member(), two.member());

    assertThat(two.agent().ok("cluster", "rotate-certs").lines())
        .hasSize(3)
        .allMatch(line -> line.matches("(one|two|three): valid until 20.*Z"));

    for (Machine machine : List.of(one, two)) {
      for (Path old : replaced.values()) {
        await().atMost(LIMIT).until(() -> machine.call(old, agent(machine)).equals("401"));
        await().atMost(LIMIT).until(() -> machine.call(old, etcd(machine)).equals("000"));
      }
      for (Machine caller : List.of(one, two, three)) {
        assertThat(caller.call(caller.etcd().getParent(), agent(machine))).isEqualTo("200");
        assertThat(caller.call(caller.etcd().getParent(), etcd(machine))).isEqualTo("200");
      }
    }
    assertThat(List.of(one.member(), two.member())).isEqualTo(members);
    awaitNodes(three, ALL);
    three.agent().ok("node", "label", "three", "rotated=yes");
    assertThat(one.agent().ok("cluster", "status")).contains("expires  20");
    assertThat(one.agent().cli().run("doctor").out()).contains("node-certificate");
    refused(one, "node 'four' not found", "cluster", "rotate-certs", "four");

    // a kill meanwhile
    Thread asking =
        Thread.startVirtualThread(() -> two.agent().cli().run("cluster", "rotate-certs", "two"));
    two.agent().kill();
    asking.join();
    two.agent().restart();
    awaitNodes(one, ALL);
    assertThat(two.call(two.etcd().getParent(), etcd(one))).isEqualTo("200");
  }

  @Test
  @Order(11)
  void certificatesAreRenewedInTimeAndThatOfASignerAlsoAfterwards() throws Exception {
    three.age(Duration.ofDays(300), one);
    two.age(Duration.ofDays(400), one);

    awaitNodes(one, ALL);
    for (Machine machine : List.of(two, three)) {
      await()
          .atMost(LIMIT)
          .until(
              () ->
                  machine
                      .certificate()
                      .getNotAfter()
                      .toInstant()
                      .isAfter(Instant.now().plus(Duration.ofDays(350))));
      assertThat(machine.call(machine.etcd().getParent(), etcd(one))).isEqualTo("200");
    }
    awaitRoles("leader", "follower");
  }

  /** Its certificate is valid for months, and its agent and its etcd still run. */
  @Test
  @Order(12)
  void aNodeThatIsRemovedIsRefusedEverywhere() throws Exception {
    Path stolen = three.copyKeys(directory.resolve("stolen"));
    Path member = two.etcd().getParent();
    for (Machine machine : List.of(one, two)) {
      assertThat(three.call(stolen, agent(machine))).isEqualTo("200");
      assertThat(three.call(stolen, etcd(machine))).isEqualTo("200");
    }

    one.agent().ok("node", "rm", "--force", "three");
    for (Machine machine : List.of(one, two)) {
      await().atMost(LIMIT).until(() -> three.call(stolen, agent(machine)).equals("403"));
      await().atMost(LIMIT).until(() -> three.call(stolen, etcd(machine)).equals("000"));
    }
    assertThat(two.call(member, agent(one))).isEqualTo("200");
    assertThat(two.call(member, etcd(one))).isEqualTo("200");
    // the node itself learns it from the others
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(
                        three
                            .agent()
                            .json("cluster", "status", "--json")
                            .at("problem")
                            .string()
                            .orElse(""))
                    .contains("this node was removed from the cluster"));

    // the last list holds while the state cannot be read, also for an agent that starts then
    freeze(true);
    try {
      one.agent().kill();
      one.agent().restart();
      await().atMost(LIMIT).until(() -> three.call(stolen, agent(one)).equals("403"));
      assertThat(two.call(member, agent(one))).isEqualTo("200");
      assertThat(three.call(stolen, agent(two))).isEqualTo("403");
    } finally {
      freeze(false);
    }
    awaitNodes(one, "one ready", "two ready");
    three.agent().ok("cluster", "leave", "--force");

    two.agent().ok("cluster", "leave");
    awaitNodes(one, "one ready");
    one.agent().ok("cluster", "leave");
    refused(one, "this node is in no cluster", "node", "ls");
  }

  private static String agent(Machine machine) {
    return "https://" + machine.address() + ":2377/api/v1/containers?local=true";
  }

  private static String etcd(Machine machine) {
    return "https://" + machine.address() + ":2379/version";
  }

  private static void freeze(boolean frozen) throws Exception {
    for (Machine machine : List.of(one, two)) {
      String signal = frozen ? "-STOP" : "-CONT";
      assertThat(
              new ProcessBuilder("kill", signal, Long.toString(machine.member().pid()))
                  .start()
                  .waitFor())
          .isZero();
    }
  }

  private static String token(Machine machine) {
    return machine
        .agent()
        .json("cluster", "token", "--expires", "5m", "--json")
        .at("token")
        .string()
        .orElseThrow();
  }

  private static String[] join(Machine through, String token, String name, Machine joining) {
    return new String[] {
      "cluster",
      "join",
      through.address(),
      "--token",
      token,
      "--name",
      name,
      "--advertise",
      joining.address()
    };
  }

  /** The token as one of another cluster would be. */
  private static String otherAuthority(String token) {
    String[] parts = token.split("-", -1);
    parts[1] = new StringBuilder(parts[1]).reverse().toString();
    return String.join("-", parts);
  }

  private static void awaitRoles() {
    awaitRoles("leader", "follower", "follower");
  }

  private static void awaitRoles(String... roles) {
    await().atMost(LIMIT).untilAsserted(() -> assertThat(roles()).containsExactlyInAnyOrder(roles));
  }

  private static List<String> roles() {
    return one.agent().json("cluster", "status", "--json").at("servers").items().stream()
        .map(server -> server.at("role").string().orElseThrow())
        .toList();
  }

  private static String role(Machine machine) {
    return one.agent().json("cluster", "status", "--json").at("servers").items().stream()
        .filter(server -> server.at("address").string().orElseThrow().equals(machine.address()))
        .map(server -> server.at("role").string().orElseThrow())
        .findFirst()
        .orElseThrow();
  }

  private static void awaitNodes(Machine machine, String... nodes) {
    await().atMost(LIMIT).untilAsserted(() -> assertThat(machine.nodes()).containsExactly(nodes));
  }

  private static void refused(Machine machine, String reason, String... command) {
    CliFixture.Result result = machine.agent().cli().run(command);
    assertThat(result.code()).as(result.out()).isNotZero();
    assertThat(result.err()).contains(reason);
  }
}
