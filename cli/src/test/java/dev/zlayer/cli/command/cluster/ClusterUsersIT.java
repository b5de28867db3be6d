package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.ClusterFixture;
import dev.zlayer.cli.ClusterFixture.Machine;
import dev.zlayer.cluster.etcd.EtcdConfig;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * What somebody can do with the certificate and the password of a node that does not store the
 * state: asked of etcd itself. One cluster of a node that stores it and two that do not, in the
 * order of the tests.
 */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.OVERLAYFS, Fact.BUSYBOX},
    programs = {"curl", "etcd", "etcdctl", "flock", "setsid", "ip", "nft", "nsenter", "busybox"})
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClusterUsersIT {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final String DENIED = "etcdserver: permission denied";

  private static final String SHOP =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: {name: "bb:1", pull_policy: never}
          command: [sleep, "1000"]
          affinity: {pin: id=two}
          env: {KEY: "$S:key"}
        report:
          rtype: job
          image: {name: "bb:1", pull_policy: never}
          command: [echo, done]
          affinity: {pin: id=three}
      """;

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
    machines.withBusybox("bb:1");
    machines.form("one");
    join(two, "two");
    join(three, "three");
    awaitNodes("one ready", "three ready", "two ready");
  }

  /** Without storing the state. */
  private static void join(Machine machine, String name) {
    String token =
        one.agent().json("cluster", "token", "--json").at("token").string().orElseThrow();
    String joining =
        "{\"through\":\"%s\",\"token\":\"%s\",\"name\":\"%s\",\"advertise\":\"%s\",\"server\":false}"
            .formatted(one.address(), token, name, machine.address());
    assertThat(machine.ask(ClusterFixture.TOKEN, "/cluster/join", "--json", joining))
        .endsWith("200");
  }

  @AfterAll
  static void stop() {
    if (machines != null) {
      machines.close();
    }
  }

  @Test
  @Order(1)
  void aNodeIsAUserWhosePasswordOnlyItsOwnerReads() throws Exception {
    EtcdConfig.Login own = login(two);

    assertThat(users()).containsExactlyInAnyOrder("root", own.user(), login(three).user());
    try (var files = Files.list(two.etcd().getParent())) {
      assertThat(files.filter(file -> file.toString().endsWith(".password")))
          .singleElement()
          .satisfies(
              file ->
                  assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                      .isEqualTo("rw-------"));
    }
    assertThat(own.password()).isNotEqualTo(login(three).password());
    assertThat(one.agent().ok("cluster", "status")).doesNotContain("without users");
    assertThat(one.agent().json("cluster", "status", "--json").at("users").bool().orElseThrow())
        .isTrue();
  }

  /** With its certificate alone nobody reads or writes anything. */
  @Test
  @Order(2)
  void aCertificateAloneOpensNothing() throws Exception {
    assertThat(ask(two, "", "kv/range", range("/zlayer/"))).contains("user name is empty");
    assertThat(ask(two, "", "kv/put", put("/zlayer/numbers/x"))).contains("user name is empty");
    assertThat(ask(two, "", "auth/user/list", "{}")).contains("user name is empty");
    EtcdConfig.Login own = login(two);
    assertThat(login(two, own.user(), login(three).password())).contains("authentication failed");
    assertThat(login(two, "root", own.password())).contains("authentication failed");
  }

  @Test
  @Order(3)
  void aNodeWritesItsOwnKeysAndReadsNoMoreThanItNeeds() throws Exception {
    secret(one, "key");
    String token = token(two);
    String own = id(two);
    String other = id(three);

    assertThat(ask(two, token, "kv/range", range("/zlayer/"))).contains("\"kvs\"");
    assertThat(ask(two, token, "kv/put", put("/zlayer-renewals/" + own))).contains("revision");
    for (String key :
        List.of(
            "/zlayer/nodes/" + other,
            "/zlayer/assignments/" + other + "/shop",
            "/zlayer/reports/" + other + "/shop",
            "/zlayer/networks/" + other + "/shop",
            "/zlayer/subnets/" + other,
            "/zlayer/link-keys/" + other,
            "/zlayer-renewals/" + other,
            "/zlayer/members/" + own,
            "/zlayer/members/" + other,
            "/zlayer/certificates/" + own + "/1",
            "/zlayer/revoked/1",
            "/zlayer/leader",
            "/zlayer/admission",
            "/zlayer/cluster",
            "/zlayer/schedules/shop/report",
            "/zlayer/unplaced/shop",
            "/zlayer/secrets/shop/-/key",
            "/zlayer-sealed/shop/-/key",
            "/zlayer-tokens/1",
            "/zlayer-events/last",
            "/other")) {
      assertThat(ask(two, token, "kv/put", put(key))).as("write " + key).contains(DENIED);
      assertThat(ask(two, token, "kv/deleterange", key(key))).as("delete " + key).contains(DENIED);
      String changes = "{\"success\":[{\"request_put\":%s}]}".formatted(put(key));
      assertThat(ask(two, token, "kv/txn", changes)).as("transact " + key).contains(DENIED);
    }
    for (String prefix : List.of("/zlayer-sealed/", "/zlayer-tokens/", "/zlayer", "/")) {
      assertThat(ask(two, token, "kv/range", range(prefix))).as("read " + prefix).contains(DENIED);
      assertThat(ask(two, token, "kv/deleterange", range(prefix))).contains(DENIED);
    }
    assertThat(ask(two, token, "kv/deleterange", range("/zlayer/"))).contains(DENIED);
    assertThat(ask(two, token, "cluster/member/add", "{\"peerURLs\":[\"https://192.0.2.2:2380\"]}"))
        .contains(DENIED);
    assertThat(ask(two, token, "cluster/member/remove", "{\"ID\":\"1\"}")).contains(DENIED);
    assertThat(ask(two, token, "maintenance/snapshot", "{}")).contains("permission denied");
    for (String path : List.of("auth/disable", "auth/user/list", "auth/role/list")) {
      assertThat(ask(two, token, path, "{}")).as(path).contains(DENIED);
    }
    String root = "{\"name\":\"root\",\"password\":\"x\"}";
    assertThat(ask(two, token, "auth/user/changepw", root)).contains(DENIED);
    String grant = "{\"user\":\"%s\",\"role\":\"root\"}".formatted(login(two).user());
    assertThat(ask(two, token, "auth/user/grant", grant)).contains(DENIED);
  }

  /** Whatever its node has no right to do is passed on to one that has. */
  @Test
  @Order(4)
  void everyRequestWorksOnEveryNode() throws Exception {
    Path file = Files.writeString(directory.resolve("shop.zlayer.yml"), SHOP);
    two.agent().ok("up", file.toString(), "--wait", "90s");
    assertThat(two.replicas("shop")).containsValue("two");
    two.agent().ok("job", "run", "--wait", "shop/report");
    assertThat(three.agent().ok("job", "history", "shop/report")).contains("three");
    two.agent().ok("node", "label", "three", "disk=ssd");
    two.agent().ok("node", "cordon", "three");
    assertThat(three.nodes()).contains("three cordoned");
    three.agent().ok("node", "uncordon", "three");
    secret(two, "other");
    three.agent().ok("secret", "rm", "other", "--deployment", "shop");
    assertThat(two.agent().ok("secret", "ls")).contains("key").doesNotContain("other");
    assertThat(two.agent().ok("cluster", "status")).contains("leader   one");
    Path backup = directory.resolve("by-two");
    two.agent().ok("cluster", "backup", backup.toString());
    assertThat(Files.size(backup)).isPositive();
    refused(two, "node 'two' is this one", "node", "rm", "two");
    refused(two, "node 'three' is alive", "node", "rm", "three");
    refused(two, "cannot admit others", "cluster", "token");
    two.agent().ok("scale", "shop/web=2");
    await().atMost(LIMIT).until(() -> two.replicas("shop").size() == 2);
  }

  /** A member forgets all tokens when it ends. */
  @Test
  @Order(5)
  void nodesLogInAnewWhenEtcdWasKilled() {
    ProcessHandle member = one.member();
    member.destroyForcibly();

    await()
        .atMost(LIMIT)
        .ignoreExceptions() // between the old and the new one
        .until(() -> !one.member().equals(member));
    await().atMost(LIMIT).until(() -> two.agent().cli().run("scale", "shop/web=1").code() == 0);
    await().atMost(LIMIT).until(() -> three.replicas("shop").size() == 1);
    awaitNodes("one ready", "three ready", "two ready");
  }

  /** As one leaves behind who is killed while it signs for a node that is removed. */
  @Test
  @Order(6)
  void aUserWithoutACertificateIsRemoved() {
    String orphan = "node-%s-dead".formatted(id(two));
    Json _ = root("auth/user/add", "{\"name\":\"%s\",\"password\":\"x\"}".formatted(orphan));
    assertThat(users()).contains(orphan);

    one.agent().kill();
    one.agent().restart();

    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(users())
                    .containsExactlyInAnyOrder("root", login(two).user(), login(three).user()));
    awaitNodes("one ready", "three ready", "two ready");
  }

  @Test
  @Order(7)
  void anotherCertificateIsAnotherUser() throws Exception {
    EtcdConfig.Login before = login(two);
    String token = token(two);
    Path backup = directory.resolve("before");
    one.agent().ok("cluster", "backup", backup.toString());

    three.agent().ok("cluster", "rotate-certs", "two");

    assertThat(login(two).user()).isNotEqualTo(before.user());
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(login(two, before.user(), before.password()))
                    .contains("authentication failed"));
    assertThat(ask(two, token, "kv/range", range("/zlayer/"))).contains("invalid auth token");
    assertThat(users()).containsExactlyInAnyOrder("root", login(two).user(), login(three).user());
    try (var files = Files.list(two.etcd().getParent())) {
      assertThat(files.filter(file -> file.toString().endsWith(".password"))).hasSize(1);
    }
    awaitNodes("one ready", "three ready", "two ready");
    two.agent().ok("node", "label", "two", "rotated=yes");

    // the state from before knows the user that was removed, and not the one that two is now
    one.agent().ok("cluster", "restore", "--force", backup.toString());
    awaitNodes("one ready", "three ready", "two ready");
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(users())
                    .containsExactlyInAnyOrder("root", login(two).user(), login(three).user()));
    await().atMost(LIMIT).until(() -> two.agent().cli().run("scale", "shop/web=2").code() == 0);
    await().atMost(LIMIT).until(() -> three.replicas("shop").size() == 2);
  }

  /** Also by somebody who has a certificate that is still valid. */
  @Test
  @Order(8)
  void whoIsRemovedIsRefusedAtOnce() throws Exception {
    EtcdConfig.Login stolen = login(three);
    String token = token(three);
    String own = id(three);
    assertThat(ask(two, token, "kv/put", put("/zlayer-renewals/" + own))).contains("revision");

    two.agent().ok("node", "rm", "--force", "three");

    assertThat(login(two, stolen.user(), stolen.password())).contains("authentication failed");
    assertThat(ask(two, token, "kv/put", put("/zlayer-renewals/" + own)))
        .contains("invalid auth token");
    assertThat(users()).containsExactlyInAnyOrder("root", login(two).user());
    assertThat(root("auth/role/list", "{}").at("roles").strings())
        .containsExactlyInAnyOrder("root", "nodes", "node-" + id(two));
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> assertThat(three.agent().ok("cluster", "status")).contains("was removed from"));
    three.agent().ok("cluster", "leave", "--force");
  }

  @Test
  @Order(9)
  void aNodeLeavesThroughOneThatStoresTheState() throws Exception {
    String own = id(two);
    two.agent().ok("cluster", "leave");

    awaitNodes("one ready");
    assertThat(two.etcd().getParent()).doesNotExist();
    assertThat(users()).containsExactly("root");
    assertThat(JsonText.print(root("kv/range", range("/zlayer/")))).doesNotContain(base64(own));
    join(two, "two");
    awaitNodes("one ready", "two ready");
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(two.replicas("shop")).containsValue("two"));
  }

  private static void secret(Machine machine, String name) {
    CliFixture.Result result =
        machine
            .agent()
            .cli()
            .runWithInput(
                "s3cret-of-the-shop".getBytes(StandardCharsets.UTF_8),
                "secret",
                "set",
                name,
                "--deployment",
                "shop");
    assertThat(result.code()).as(result.err()).isZero();
  }

  private static String id(Machine machine) {
    return machine.agent().json("cluster", "status", "--json").at("node").string().orElseThrow();
  }

  private static EtcdConfig.Login login(Machine machine) {
    return machine.asks(one).login();
  }

  private static String token(Machine machine) {
    return machine.asks(one).token();
  }

  private static String login(Machine from, String user, String password) {
    return from.asks(one).login(user, password);
  }

  private static String ask(Machine from, String token, String path, String body) {
    return from.asks(one).ask(token, path, body);
  }

  private static List<String> users() {
    return root("auth/user/list", "{}").at("users").strings();
  }

  private static Json root(String path, String body) {
    return JsonText.parse(ask(one, token(one), path, body));
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String key(String key) {
    return "{\"key\":\"%s\"}".formatted(base64(key));
  }

  private static String put(String key) {
    return "{\"key\":\"%s\",\"value\":\"%s\"}".formatted(base64(key), base64("1"));
  }

  /** All keys that begin with this. */
  private static String range(String prefix) {
    char last = prefix.charAt(prefix.length() - 1);
    String end = prefix.substring(0, prefix.length() - 1) + (char) (last + 1);
    return "{\"key\":\"%s\",\"range_end\":\"%s\"}".formatted(base64(prefix), base64(end));
  }

  private static void awaitNodes(String... nodes) {
    await().atMost(LIMIT).untilAsserted(() -> assertThat(one.nodes()).containsExactly(nodes));
  }

  private static void refused(Machine machine, String reason, String... command) {
    CliFixture.Result result = machine.agent().cli().run(command);
    assertThat(result.code()).as(result.out()).isNotZero();
    assertThat(result.err()).contains(reason);
  }
}
