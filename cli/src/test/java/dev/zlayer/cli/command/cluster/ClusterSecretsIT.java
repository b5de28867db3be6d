package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.ClusterFixture;
import dev.zlayer.cli.ClusterFixture.Machine;
import dev.zlayer.cli.EtcdUser;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
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
 * Secrets of three machines: two store the state of the cluster, the third one does not and runs
 * nothing but a job. In the order of the tests: each begins with what the one before left.
 */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.OVERLAYFS, Fact.BUSYBOX},
    programs = {"curl", "etcd", "flock", "setsid", "ip", "bridge", "nft", "nsenter", "busybox"})
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClusterSecretsIT {
  private static final Duration LIMIT = Duration.ofSeconds(90);

  private static final String FILE =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; echo connects with $DB; sleep 1000 & wait"]
          affinity: {pin: id=one}
          env: {DB: "$S:db-password", USER: "user-${S:@web/account/name}"}
          secrets: [{name: db-password, mode: 0o400}]
          update: {min_healthy_time: 0s}
        api:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
          affinity: {pin: id=two}
          secrets: [db-password, for-all]
          update: {min_healthy_time: 0s}
        report:
          rtype: job
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "echo $KEY | tr a-z A-Z"]
          affinity: {pin: id=three}
          env: {KEY: "$S:report-key"}
      """;

  private static final String FIRST = "first-password-4711";
  private static final String SECOND = "second-password-0815";
  private static final String ACCOUNT = "{\"name\": \"account-of-web\"}";
  private static final String FOR_ALL = "text-for-all-deployments";
  private static final String KEY = "the-key-of-the-report";
  private static final String LOCAL = "only-on-node-one-12345";

  /** No part of these may be found where they were not given. */
  private static final List<String> VALUES =
      List.of(FIRST, SECOND, "account-of-web", FOR_ALL, KEY, LOCAL);

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
    set(one, LOCAL, "db-password"); // before there is a cluster
    String token =
        one.agent()
            .json("cluster", "init", "--name", "one", "--advertise", one.address(), "--json")
            .at("token")
            .string()
            .orElseThrow();
    join(two, "two", token, true);
    join(
        three,
        "three",
        one.agent().json("cluster", "token", "--json").at("token").string().orElseThrow(),
        false);
  }

  private static void join(Machine machine, String name, String token, boolean server) {
    String body =
        JsonText.print(
            Json.object()
                .put("through", one.address())
                .put("token", token)
                .put("name", name)
                .put("advertise", machine.address())
                .put("server", server)
                .build());
    assertThat(
            machine.ask(
                ClusterFixture.TOKEN,
                "/cluster/join",
                "-H",
                "Content-Type: application/json",
                "-d",
                body))
        .endsWith("200");
  }

  @AfterAll
  static void stop() {
    if (machines != null) {
      machines.close();
    }
  }

  private static void set(Machine machine, String value, String... words) {
    var all = new ArrayList<>(List.of("secret", "set"));
    all.addAll(List.of(words));
    CliFixture.Result result =
        machine
            .agent()
            .cli()
            .runWithInput(value.getBytes(StandardCharsets.UTF_8), all.toArray(String[]::new));
    assertThat(result.code()).as(result.err()).isZero();
  }

  private static String read(Machine machine, String service, String script) {
    return machine.agent().ok("exec", "shop/" + service, "sh", "-c", script).strip();
  }

  @Test
  @Order(1)
  void whatIsSetOnANodeIsUsedOnOthers() throws Exception {
    set(three, FIRST, "db-password", "--deployment", "shop");
    set(three, ACCOUNT, "@web/account", "--deployment", "shop");
    set(one, FOR_ALL, "for-all");
    set(two, KEY, "report-key", "--deployment", "shop");

    three.agent().ok("up", file(), "--wait", "90s");

    assertThat(read(three, "web", "echo $DB $USER")).isEqualTo(FIRST + " user-account-of-web");
    assertThat(
            read(
                three, "web", "cat /run/secrets/db-password; stat -c :%a /run/secrets/db-password"))
        .isEqualTo(FIRST + ":400");
    assertThat(read(one, "api", "cat /run/secrets/db-password /run/secrets/for-all"))
        .isEqualTo(FIRST + FOR_ALL);
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> assertThat(three.agent().ok("logs", "shop/web")).contains("connects with"));
    for (Machine machine : List.of(one, three)) {
      assertThat(machine.agent().ok("logs", "shop/web"))
          .contains("connects with [secret]")
          .doesNotContain(FIRST);
    }
  }

  @Test
  @Order(2)
  void everyNodeListsTheNames() {
    for (Machine machine : List.of(one, two, three)) {
      String listed = machine.agent().ok("secret", "ls");
      assertThat(listed).contains("db-password", "@web/account", "for-all", "report-key");
      assertThat(VALUES).noneMatch(listed::contains);
      assertThat(machine.agent().ok("secret", "ls", "--deployment", "shop"))
          .doesNotContain("for-all");
    }
    assertThat(one.agent().ok("secret", "ls")).as("its own").contains("NODE", "one");
    assertThat(one.agent().ok("secret", "ls", "--local")).doesNotContain("for-all");
    assertThat(two.agent().ok("secret", "ls", "--local")).doesNotContain("db-password");
  }

  @Test
  @Order(3)
  void aDeploymentOfOneNodeUsesThoseOfTheNode() throws Exception {
    String mine =
        FILE.replace("deployment: shop", "deployment: mine")
            .replace("@web/account/name", "for-all");
    mine = mine.substring(0, mine.indexOf("  api:")).replace("    affinity: {pin: id=one}\n", "");
    set(one, "local text", "for-all", "--local");
    one.agent().ok("up", file(mine), "--local", "--wait", "60s");
    assertThat(one.agent().ok("exec", "mine/web", "sh", "-c", "echo $DB $USER").strip())
        .isEqualTo(LOCAL + " user-local text");
    one.agent().ok("down", "mine");
    one.agent().ok("secret", "rm", "for-all", "--local");
    assertThat(two.agent().ok("secret", "ls")).contains("for-all");
  }

  @Test
  @Order(4)
  void anExecutionOfAJobIsGivenItsSecret() {
    assertThat(given(three)).as("before").isEmpty();
    assertThat(one.agent().ok("job", "run", "--wait", "--quiet", "shop/report").strip())
        .isEqualTo(KEY.toUpperCase(java.util.Locale.ROOT));
    assertThat(one.agent().json("job", "history", "shop/report", "--json").items())
        .allSatisfy(run -> assertThat(run.at("node").string()).contains("three"));
  }

  @Test
  @Order(5)
  void anotherNodeReadsNothing() throws Exception {
    String state =
        "\"key\": \"%s\", \"range_end\": \"%s\"".formatted(padded("/zlayer/"), padded("/zlayer0"));
    for (List<String> stored :
        List.of(stored(three, state), stored(one, "\"key\": \"AA==\", \"range_end\": \"AA==\""))) {
      assertThat(stored).hasSizeGreaterThan(20);
      assertThat(String.join("\n", stored)).as("it did read them").contains("db-password");
      for (String value : VALUES) {
        assertThat(stored).noneMatch(one -> one.contains(value));
      }
    }
    assertThat(given(three)).as("of a node that has no replica").isEmpty();
    assertThat(given(one).toString()).as("of one that has").contains(FIRST, "account-of-web");
    assertThat(given(one).toString()).doesNotContain(FOR_ALL, KEY);
    assertThat(Files.exists(three.etcd().resolveSibling("ca.key"))).isFalse();
    assertThat(onDisk(three)).isEmpty();
    assertThat(onDisk(one)).isEmpty();
    assertThat(onDisk(two)).isEmpty();
  }

  @Test
  @Order(6)
  void aChangedSecretRollsItsUsers() {
    set(two, SECOND, "db-password", "--deployment", "shop");
    awaitPassword(SECOND);
    assertThat(read(one, "api", "cat /run/secrets/for-all")).isEqualTo(FOR_ALL);
  }

  /** Its containers run on; what changed meanwhile is there when it is back. */
  @Test
  @Order(7)
  void anAgentThatIsKilledGetsWhatChangedMeanwhile() {
    one.agent().kill();
    set(three, FIRST, "db-password", "--deployment", "shop");
    one.agent().restart();
    awaitPassword(FIRST);
    // killed as soon as it is asked to roll
    set(two, SECOND, "db-password", "--deployment", "shop");
    one.agent().kill();
    one.agent().restart();
    awaitPassword(SECOND);
  }

  private static void awaitPassword(String value) {
    await()
        .atMost(LIMIT)
        .ignoreExceptions()
        .untilAsserted(
            () -> {
              assertThat(read(three, "web", "echo $DB; cat /run/secrets/db-password").lines())
                  .containsExactly(value, value);
              assertThat(read(three, "api", "cat /run/secrets/db-password")).isEqualTo(value);
            });
  }

  @Test
  @Order(8)
  void aBackupHasNoValue() throws Exception {
    Path backup = directory.resolve("cluster.db");
    three.agent().ok("cluster", "backup", backup.toString());
    String bytes = Files.readString(backup, StandardCharsets.ISO_8859_1);
    assertThat(bytes).contains("/zlayer-sealed/shop//db-password");
    assertThat(VALUES).noneMatch(value -> bytes.contains(value) || bytes.contains(base64(value)));
  }

  @Test
  @Order(9)
  void whatIsRemovedIsUsedByNobody() throws Exception {
    three.agent().ok("secret", "rm", "for-all");
    assertThat(one.agent().ok("secret", "ls")).doesNotContain("for-all");
    assertThat(one.agent().cli().run("secret", "rm", "for-all").err()).contains("not found");
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(given(two).toString()).doesNotContain(FOR_ALL));
    String late =
        FILE.replace("deployment: shop", "deployment: late")
            .substring(0, FILE.indexOf("    env: {DB"))
            .replace("$DB", "nothing");
    CliFixture.Result failed =
        three.agent().cli().run("up", file(late + "    secrets: [for-all]\n"), "--wait", "60s");
    assertThat(failed.code()).isNotZero();
    assertThat(failed.out() + failed.err()).contains("secret for-all");

    set(three, "set again", "for-all");
    await()
        .atMost(LIMIT)
        .ignoreExceptions()
        .untilAsserted(
            () -> {
              assertThat(two.agent().ok("exec", "late/web", "cat", "/run/secrets/for-all"))
                  .isEqualTo("set again");
              assertThat(read(three, "api", "cat /run/secrets/for-all")).isEqualTo("set again");
            });
  }

  /** What etcd gives to the user of a machine, keys and values. */
  private static List<String> stored(Machine machine, String range) {
    EtcdUser user = machine.asks(two);
    Json answer = JsonText.parse(user.ask(user.token(), "kv/range", "{" + range + "}"));
    var all = new ArrayList<String>();
    for (Json entry : answer.at("kvs").items()) {
      all.add(plain(entry.at("key").string().orElse("")));
      all.add(plain(entry.at("value").string().orElse("")));
    }
    return all;
  }

  private static String plain(String base64) {
    return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
  }

  private static String padded(String key) {
    return Base64.getEncoder().encodeToString(key.getBytes(StandardCharsets.UTF_8));
  }

  private static String base64(String value) {
    return Base64.getEncoder()
        .withoutPadding()
        .encodeToString(value.getBytes(StandardCharsets.UTF_8));
  }

  /** What a node that stores the state gives to the certificate of a machine. */
  private static List<Json> given(Machine machine) {
    return call(machine, "https://%s:2377/api/v1/cluster/secrets", "{\"deployment\": \"shop\"}")
        .at("secrets")
        .items();
  }

  private static Json call(Machine machine, String url, String body) {
    Path files = machine.etcd().getParent();
    CommandResult result =
        machine.program(
            "curl",
            "--silent",
            "--show-error",
            "--max-time",
            "30",
            "--cacert",
            files.resolve("ca.crt").toString(),
            "--cert",
            files.resolve("node.crt").toString(),
            "--key",
            files.resolve("node.key").toString(),
            "-H",
            "Content-Type: application/json",
            "-d",
            body,
            url.formatted(two.address()));
    assertThat(result.code()).as(result.stderr()).isZero();
    return JsonText.parse(result.stdout());
  }

  /** Files of the state and of the cluster in which a value is to be read. */
  private static List<Path> onDisk(Machine machine) throws IOException {
    var found = new ArrayList<Path>();
    Path data = machine.agent().dataDirectory();
    try (var files = Files.walk(data)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        boolean state = file.getFileName().toString().startsWith("state.db");
        if (state || file.startsWith(data.resolve("cluster"))) {
          String bytes = Files.readString(file, StandardCharsets.ISO_8859_1);
          if (VALUES.stream().anyMatch(bytes::contains)) {
            found.add(file);
          }
        }
      }
    }
    return found;
  }

  private static String file() throws IOException {
    return file(FILE);
  }

  private static String file(String text) throws IOException {
    return Files.writeString(directory.resolve("file.zlayer.yml"), text).toString();
  }
}
