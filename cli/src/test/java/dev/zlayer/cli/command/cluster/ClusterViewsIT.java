package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.ClusterFixture;
import dev.zlayer.cli.ClusterFixture.Machine;
import dev.zlayer.cli.dashboard.ClusterPages;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** What any node shows of all nodes, in the order of the tests, on three machines. */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.OVERLAYFS, Fact.BUSYBOX},
    programs = {"curl", "etcd", "flock", "setsid", "ip", "bridge", "nft", "nsenter", "busybox"})
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClusterViewsIT {
  private static final Duration LIMIT = Duration.ofSeconds(90);

  private static final String SHOP =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
          env: {STEP: "1"}
          network_mode: none
          scale: {mode: manual, replicas: 3}
          update: {min_healthy_time: 0s}
      """;

  @TempDir static Path directory;
  private static ClusterFixture machines;
  private static Machine one;
  private static Machine two;
  private static Machine three;

  @BeforeAll
  static void start() throws IOException {
    machines = new ClusterFixture(directory, 3);
    one = machines.machine(1);
    two = machines.machine(2);
    three = machines.machine(3);
    machines.withBusybox("bb:1");
    machines.form("one", "two", "three");
    three.agent().ok("up", file(SHOP), "--wait", "90s");
  }

  @AfterAll
  static void stop() {
    if (machines != null) {
      machines.close();
    }
  }

  @Test
  @Order(1)
  void eventsOfAllNodesAreMergedInTheOrderOfTime() {
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(nodes(events(two, "--kind", "replica.started")))
                    .containsExactlyInAnyOrder("one", "two", "three"));
    List<Json> all = events(one);
    assertThat(all).isSortedAccordingTo((a, b) -> time(a).compareTo(time(b)));
    assertThat(all.stream().map(ClusterViewsIT::key)).doesNotHaveDuplicates();
    assertThat(all.stream().map(ClusterViewsIT::key).toList())
        .isEqualTo(events(three).stream().map(ClusterViewsIT::key).toList());
    assertThat(events(two, "--kind", "node.joined").stream().map(one -> text(one, "subject")))
        .containsExactlyInAnyOrder("two", "three");
    assertThat(events(two, "--kind", "cluster.leader_changed")).hasSize(1);
    assertThat(events(one, "--tail", "4", "--deployment", "shop")).hasSize(4);
    assertThat(two.agent().ok("events", "--kind", "replica.started", "--deployment", "shop"))
        .containsPattern("(?m)^\\d+ one 20.*replica.started shop/web/");
    // a number means the node that is asked, as it did before there was a cluster
    assertThat(nodes(events(two, "--since", "0"))).containsExactly("-");
  }

  @Test
  @Order(2)
  void aPageContinuesWhereTheLastOneEnded() {
    var read = new ArrayList<String>();
    String token = "";
    for (int i = 0; i < 100; i++) {
      String answer =
          two.ask(ClusterFixture.TOKEN, "/events?limit=7" + (i == 0 ? "" : "&since=" + token));
      Json page = JsonText.parse(answer.substring(0, answer.length() - 3));
      page.at("events").items().forEach(event -> read.add(key(event)));
      token = text(page, "resume");
      if (page.at("events").items().isEmpty()) {
        break;
      }
    }
    assertThat(read).doesNotHaveDuplicates();
    assertThat(read).containsAll(events(one).stream().map(ClusterViewsIT::key).toList());
    assertThat(two.ask(ClusterFixture.TOKEN, "/events?since=x:y"))
        .endsWith("422")
        .contains("neither the number of an event");
  }

  @Test
  @Order(3)
  void whoFollowsMissesNothingOfANodeThatWasAway() throws Exception {
    try (var follower = new Running(one, "events", "-f", "--json")) {
      await().atMost(LIMIT).until(() -> follower.out().contains("node.joined"));
      three.agent().ok("volume", "create", "before");
      await().atMost(LIMIT).until(() -> follower.out().contains("\"before\""));
      machines.cable(3, false);
      try {
        three.agent().ok("volume", "create", "meanwhile");
        await().atMost(LIMIT).until(() -> follower.err().contains("'three' does not answer"));
        one.agent().ok("volume", "create", "here");
        two.agent().ok("volume", "create", "there");
        await()
            .atMost(LIMIT)
            .untilAsserted(
                () ->
                    assertThat(follower.out())
                        .contains("\"here\"", "\"there\"", "node.lost", "replica.moved")
                        .doesNotContain("\"meanwhile\""));
        assertThat(one.agent().cli().run("events", "--tail", "1").err()).contains("'three'");
      } finally {
        machines.cable(3, true);
      }
      await()
          .atMost(LIMIT)
          .untilAsserted(() -> assertThat(follower.out()).contains("\"meanwhile\"", "node.ready"));
      await().atMost(LIMIT).until(() -> follower.err().contains("'three' answers again"));

      List<Json> seen = follower.out().lines().map(JsonText::parse).toList();
      assertThat(seen.stream().map(ClusterViewsIT::key)).doesNotHaveDuplicates();
      // the store of the cluster may have no leader for some seconds after a member is back
      await().atMost(LIMIT).untilAsserted(ClusterViewsIT::whatTheLossDidIsThereOnce);
    }
    for (Machine machine : List.of(one, two)) {
      machine.agent().ok("volume", "rm", machine == one ? "here" : "there");
    }
    three.agent().ok("volume", "rm", "before", "meanwhile");
  }

  @Test
  @Order(4)
  void whoFollowsContinuesWhenTheAgentThatIsAskedIsStartedAgain() throws Exception {
    try (var follower = new Running(two, "events", "-f", "--json", "--kind", "volume")) {
      await().atMost(LIMIT).until(() -> follower.out().contains("\"before\""));
      two.agent().kill();
      three.agent().ok("volume", "create", "restarted");
      two.agent().restart();
      await().atMost(LIMIT).until(() -> follower.out().contains("\"restarted\""));
      assertThat(follower.out().lines().map(JsonText::parse).map(ClusterViewsIT::key))
          .doesNotHaveDuplicates();
    }
    three.agent().ok("volume", "rm", "restarted");
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> assertThat(two.nodes()).contains("one ready", "two ready", "three ready"));
  }

  @Test
  @Order(5)
  void statisticsOfAllNodesAreRefreshed() throws Exception {
    for (Machine machine : List.of(one, two, three)) {
      machine.agent().ok("run", "-d", "--network", "none", "--name", "box", "bb:1", "sleep", "999");
    }
    try (var stats = new Running(two, "stats", "--json")) {
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () -> {
                List<String> frames = stats.out().lines().toList();
                assertThat(frames).hasSizeGreaterThan(2);
                List<Json> boxes =
                    JsonText.parse(frames.getLast()).items().stream()
                        .filter(reading -> text(reading, "name").equals("box"))
                        .toList();
                assertThat(nodes(boxes)).containsExactlyInAnyOrder("one", "two", "three");
                assertThat(boxes)
                    .allMatch(reading -> !reading.at("cpu_percent").isNull(), "has a rate");
              });
    }
    assertThat(one.agent().ok("stats", "--no-stream")).contains("NODE", "three");
    for (Machine machine : List.of(one, two, three)) {
      machine.agent().ok("rm", "-f", "box");
    }
  }

  @Test
  @Order(6)
  void aFileIsComparedOnAnyNode() throws Exception {
    String changed = SHOP.replace("STEP: \"1\"", "STEP: \"2\"");
    for (Machine machine : List.of(one, two, three)) {
      assertThat(machine.agent().ok("diff", file(SHOP))).doesNotContain("STEP");
      assertThat(machine.agent().cli().run("diff", "--exit-code", file(changed)).code()).isOne();
      assertThat(machine.agent().ok("up", "--dry-run", file(changed))).contains("web", "env");
    }
    assertThat(two.agent().ok("diff", file(changed.replace("deployment: shop", "deployment: new"))))
        .contains("web");
    assertThat(
            two.agent()
                .cli()
                .run("diff", file(SHOP.replace("env:", "pid_mode: \"container:x\"\n    env:")))
                .code())
        .as("what a cluster refuses")
        .isNotZero();
    assertThat(two.agent().ok("revisions", "shop").lines()).as("nothing was applied").hasSize(2);
  }

  @Test
  @Order(7)
  void aTokenChangesItsDeploymentOfTheClusterAndNothingElse() {
    String token = two.agent().ok("token", "create", "--deployment", "shop").strip();
    String other = two.agent().ok("token", "create", "--deployment", "other").strip();
    String path = "/deployments/shop";
    String grown = SHOP.replace("replicas: 3", "replicas: 2");

    assertThat(put(token, path, SHOP)).endsWith("202");
    assertThat(put(token, path, grown)).endsWith("202");
    assertThat(put(token, path, SHOP.replace("STEP: \"1\"", "STEP: \"2\"")))
        .endsWith("403")
        .contains("web.env");
    assertThat(put(token, path, SHOP.replace("network_mode: none", "network_mode: host")))
        .endsWith("403")
        .contains("network_mode");
    assertThat(put(token, path, SHOP.replace("  web:", "  more:"))).endsWith("403");
    assertThat(put(token, path + "?directory=/root", SHOP)).endsWith("202");
    assertThat(text(two.agent().json("status", "shop", "--json"), "directory"))
        .as("the directory stays")
        .isEqualTo(directory.toString());
    assertThat(
            put(token, "/deployments/other", SHOP.replace("deployment: shop", "deployment: other")))
        .endsWith("403");
    assertThat(
            put(other, "/deployments/other", SHOP.replace("deployment: shop", "deployment: other")))
        .endsWith("403")
        .contains("create it");
    assertThat(put(other, path, SHOP)).endsWith("403");
    assertThat(two.ask(token, path + "/services/web/scale", "-d", "{replicas: 3}")).endsWith("204");
    assertThat(two.ask(token, path + "/services/web/restart", "-X", "POST")).endsWith("204");
    assertThat(two.ask(other, path + "/services/web/restart", "-X", "POST")).endsWith("403");
    assertThat(two.ask(token, path + "/diff", "-H", "Content-Type: application/yaml", "-d", SHOP))
        .endsWith("200");
    String events = two.ask(token, "/events");
    assertThat(events).endsWith("200").contains("shop/web", "\"one\"", "\"three\"");
    assertThat(events).doesNotContain("node.lost", "leader_changed", "volume.");
  }

  @Test
  @Order(8)
  void imagesVolumesAndNetworksAreShownWithTheirNode() {
    two.agent().ok("volume", "create", "data");
    assertThat(one.agent().ok("volume", "ls")).containsPattern("data +two ");
    assertThat(text(one.agent().json("volume", "inspect", "data"), "name")).isEqualTo("data");
    assertThat(one.agent().ok("image", "ls")).contains("NODE").containsPattern("bb:1 +three ");
    assertThat(one.agent().ok("network", "ls")).contains("NODE");
    three.agent().ok("volume", "create", "data");

    assertThat(one.agent().cli().run("volume", "rm", "data").err())
        .contains("'data' is on several nodes (three, two)", "--node");
    one.agent().ok("volume", "rm", "--node", "three", "data");
    assertThat(one.agent().cli().run("volume", "inspect", "--node", "three", "data").err())
        .contains("'data'");
    one.agent().ok("volume", "rm", "data");
    assertThat(two.agent().ok("volume", "ls", "--quiet")).isEmpty();
    assertThat(one.agent().cli().run("volume", "rm", "data").err()).contains("'data'");
    assertThat(one.agent().cli().run("volume", "rm", "--node", "four", "data").err())
        .contains("node 'four'", "not in this cluster");
  }

  @Test
  @Order(9)
  @Requires(Fact.CHROMIUM)
  void theDashboardShowsAndReachesAllNodes() throws Exception {
    try (var pages = new ClusterPages(directory, one, three)) {
      pages.showTheNodes();
      pages.showAContainerElsewhere();
    }
  }

  private static void whatTheLossDidIsThereOnce() {
    List<Json> moved = events(two, "--kind", "replica.moved", "--deployment", "shop");
    assertThat(moved).hasSize(1);
    assertThat(moved.getFirst().at("facts").at("from").string()).contains("three");
    assertThat(moved.getFirst().at("facts").at("reason").string()).contains("node lost");
    assertThat(events(two, "--kind", "node.lost")).hasSize(1);
  }

  private static String put(String token, String path, String file) {
    return two.ask(token, path, "-X", "PUT", "-H", "Content-Type: application/yaml", "-d", file);
  }

  private static List<Json> events(Machine machine, String... arguments) {
    var words = new ArrayList<>(List.of("events", "--json"));
    words.addAll(Arrays.asList(arguments));
    CliFixture.Result result = machine.agent().cli().run(words.toArray(String[]::new));
    assertThat(result.code()).as(result.err()).isZero();
    return result.out().lines().map(JsonText::parse).toList();
  }

  private static List<String> nodes(List<Json> all) {
    return all.stream().map(one -> one.at("node").string().orElse("-")).distinct().toList();
  }

  /** An event is known by its node and number. */
  private static String key(Json event) {
    return text(event, "node") + "/" + event.at("seq").integer().orElseThrow();
  }

  private static String time(Json event) {
    return text(event, "time");
  }

  private static String text(Json object, String name) {
    return object.at(name).string().orElseThrow();
  }

  private static String file(String text) throws IOException {
    Path file = directory.resolve("shop.zlayer.yml");
    Files.writeString(file, text);
    return file.toString();
  }

  /** A command line that keeps running, with what it has printed so far. */
  private static final class Running implements AutoCloseable {
    private final Path out;
    private final Path err;
    private final Process process;

    Running(Machine machine, String... arguments) throws IOException, InterruptedException {
      this.out = Files.createTempFile(directory, "running", ".out");
      this.err = Files.createTempFile(directory, "running", ".err");
      var words = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" 2>" + err, "sh"));
      words.addAll(machine.agent().process(arguments));
      this.process =
          Processes.start(Command.of(words).withEnv(machine.agent().env()), out.toFile());
    }

    /** Whole lines. */
    String out() throws IOException {
      String text = Files.readString(out);
      return text.substring(0, text.lastIndexOf('\n') + 1);
    }

    String err() throws IOException {
      return Files.readString(err);
    }

    @Override
    public void close() {
      process.destroyForcibly();
      Optional<ProcessHandle> _ =
          process.toHandle().onExit().handle((handle, _) -> Optional.ofNullable(handle)).join();
    }
  }
}
