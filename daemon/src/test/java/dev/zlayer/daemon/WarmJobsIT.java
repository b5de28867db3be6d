package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Containers of jobs that are created ahead, with real ones, over REST. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class WarmJobsIT {
  @TempDir Path shared;
  private Node node;

  @BeforeEach
  void open() throws Exception {
    node = new Node().with("network_pool", "0");
    Files.writeString(shared.resolve("config"), "first");
  }

  @AfterEach
  void close() throws Exception {
    node.close();
  }

  private static ConditionFactory soon() {
    return Awaitility.await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(20));
  }

  /** {@code more} are further keys of the job. */
  private void deploy(Rest rest, String settings, String script, String... more)
      throws InterruptedException {
    String file =
        """
        version: v1
        deployment: early
        services:
          report:
            rtype: job
            image: {name: "%s", pull_policy: never}
            network_mode: none
            command: [sh, -c, '%s']
            job: %s
        """
            .formatted(Node.IMAGE, script, settings);
    for (String line : more) {
      file += "    " + line + "\n";
    }
    Rest.Reply reply = rest.put("/deployments/early", file.getBytes(StandardCharsets.UTF_8));
    assertThat(reply.status()).as(reply.text()).isIn(200, 202);
  }

  /** Those that are prepared, by their ids. */
  private static Map<String, Json> prepared(Rest rest) throws InterruptedException {
    return rest.get("/containers?all=true").expect(200).json().items().stream()
        .filter(one -> one.at("state").string().orElse("").equals("prepared"))
        .collect(
            Collectors.toMap(
                one -> one.at("id").string().orElseThrow(),
                one -> one,
                (one, _) -> one,
                TreeMap::new));
  }

  private static Map<String, Json> filled(Rest rest, int count) {
    return soon().until(() -> prepared(rest), all -> all.size() == count);
  }

  private static String begin(Rest rest, String body) throws InterruptedException {
    return rest.post("/jobs/early/report/executions", body)
        .expect(201)
        .json()
        .at("id")
        .string()
        .orElseThrow();
  }

  private static Json end(Rest rest, String id) throws InterruptedException {
    return rest.get("/executions/" + id + "/wait?timeout=50s").expect(200).json();
  }

  private static String container(Json execution) {
    return execution.at("attempts").items().getLast().at("container").string().orElseThrow();
  }

  private static String log(Rest rest, String id) throws InterruptedException {
    return rest.get("/executions/" + id + "/logs?format=raw").text();
  }

  private static void remove(Rest rest) throws InterruptedException {
    assertThat(rest.delete("/deployments/early").status()).isIn(200, 202, 204);
    soon().until(() -> rest.get("/containers?all=true").expect(200).json().items().isEmpty());
  }

  @Test
  void anExecutionRunsInAContainerThatWasThereBefore() throws Exception {
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      deploy(
          rest,
          "{warm: 2}",
          "echo out $WORD; echo err >&2; exit 7",
          "env: {WORD: usual}",
          "resources: {memory: 64Mi}");
      Map<String, Json> ready = filled(rest, 2);
      assertThat(rest.get("/containers").expect(200).json().items()).as("none runs").isEmpty();
      Json oldest =
          ready.values().stream()
              .min(Comparator.comparingLong(one -> one.at("generation").integer().orElseThrow()))
              .orElseThrow();
      assertThat(oldest.at("name").string().orElse("")).startsWith("early/report/prepared-");
      long pid = oldest.at("pid").integer().orElseThrow();
      assertThat(Path.of("/proc", Long.toString(pid))).exists();
      Instant triggered = Instant.now();

      String id = begin(rest, "{}");
      Json end = end(rest, id);

      assertThat(container(end)).isEqualTo(oldest.at("id").string().orElseThrow());
      assertThat(Instant.parse(oldest.at("created").string().orElseThrow())).isBefore(triggered);
      assertThat(end.at("code").integer()).contains(7L);
      assertThat(log(rest, id)).contains("out usual\n").contains("err\n");
      filled(rest, 2);
      soon().untilAsserted(() -> assertThat(prepared(rest)).doesNotContainKey(container(end)));

      String other = begin(rest, "{\"env\": {\"WORD\": \"other\"}}");
      assertThat(ready).doesNotContainKey(container(end(rest, other)));
      assertThat(log(rest, other)).contains("out other\n");
      remove(rest);
    }
  }

  @Test
  void whatTheyUseIsCounted() throws Exception {
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      deploy(rest, "{warm: 1}", "true", "resources: {memory: 64Mi}");
      String id = filled(rest, 1).keySet().iterator().next();
      Json stats = rest.get("/containers/" + id + "/stats").expect(200).json();
      assertThat(stats.at("memory_bytes").integer().orElse(0L)).isBetween(1L, 64L << 20);
      assertThat(
              rest.get("/stats").expect(200).json().items().stream()
                  .map(one -> one.at("id").string().orElse("")))
          .contains(id);
      assertThat(rest.post("/containers/" + id + "/start").status()).isEqualTo(409);
      assertThat(rest.post("/containers/" + id + "/kill").status()).isEqualTo(409);
      remove(rest);
    }
  }

  @Test
  void aChangedFileSecretOrMountMakesOthers() throws Exception {
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      setSecret(rest, "one");
      String[] more = {
        "env: {KEY: '$S:key'}",
        "storage: [{type: bind, source: %s, target: /config}]".formatted(shared.resolve("config"))
      };
      String script = "echo $KEY $(cat /config)";
      deploy(rest, "{warm: 1}", script, more);
      Set<String> first = Set.copyOf(filled(rest, 1).keySet());

      deploy(rest, "{warm: 1}", "echo new; " + script, more);
      soon()
          .untilAsserted(
              () ->
                  assertThat(prepared(rest).keySet())
                      .hasSize(1)
                      .doesNotContainAnyElementsOf(first));
      Set<String> second = Set.copyOf(filled(rest, 1).keySet());

      setSecret(rest, "two");
      Json end = end(rest, begin(rest, "{}"));
      assertThat(log(rest, end.at("id").string().orElseThrow())).isEqualTo("new\ntwo first\n");
      assertThat(second).doesNotContain(container(end));
      soon()
          .untilAsserted(
              () ->
                  assertThat(prepared(rest).keySet())
                      .hasSize(1)
                      .doesNotContainAnyElementsOf(second));

      Set<String> third = Set.copyOf(filled(rest, 1).keySet());
      setSecret(rest, "six");
      soon()
          .untilAsserted(
              () ->
                  assertThat(prepared(rest).keySet())
                      .as("unasked")
                      .doesNotContainAnyElementsOf(third));
      Set<String> fourth = Set.copyOf(filled(rest, 1).keySet());

      Path fresh = Files.writeString(shared.resolve("fresh"), "second");
      Files.move(fresh, shared.resolve("config"), StandardCopyOption.ATOMIC_MOVE);
      Json last = end(rest, begin(rest, "{}"));
      assertThat(log(rest, last.at("id").string().orElseThrow())).isEqualTo("new\nsix second\n");
      assertThat(fourth).doesNotContain(container(last));
      remove(rest);
    }
  }

  private static void setSecret(Rest rest, String value) throws InterruptedException {
    Rest.Reply reply =
        rest.put("/secrets/key?deployment=early", value.getBytes(StandardCharsets.UTF_8));
    assertThat(reply.status()).as(reply.text()).isIn(200, 201, 204);
  }

  @Test
  void aKilledAgentLeavesNoneBehind() throws Exception {
    Set<String> before;
    List<Long> pids;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      deploy(rest, "{warm: 3}", "echo ran");
      Map<String, Json> ready = filled(rest, 3);
      before = Set.copyOf(ready.keySet());
      pids = ready.values().stream().map(one -> one.at("pid").integer().orElseThrow()).toList();
      first.kill();
    }
    assertThat(pids).allMatch(pid -> Files.exists(Path.of("/proc", Long.toString(pid))));

    try (ChildDaemon second = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      soon()
          .untilAsserted(
              () ->
                  assertThat(prepared(rest).keySet())
                      .hasSize(3)
                      .doesNotContainAnyElementsOf(before));
      soon().until(() -> pids.stream().noneMatch(pid -> Files.exists(Path.of("/proc", "" + pid))));
      String id = begin(rest, "{}");
      assertThat(end(rest, id).at("code").integer()).contains(0L);
      assertThat(log(rest, id)).isEqualTo("ran\n");
      Map<String, Json> last = filled(rest, 3);
      soon()
          .untilAsserted(
              () -> assertThat(rest.get("/containers?all=true").json().items()).hasSize(3));
      int _ = second.terminate();
      assertThat(last.values())
          .as("one that ends in order takes them along")
          .noneMatch(one -> Files.exists(Path.of("/proc", "" + one.at("pid").integer().get())));
    }
  }

  /** Without {@code warm}; also by an agent that is killed while it waits. */
  @Test
  void theNextOfAQueueIsCreatedWhileTheOneBeforeRuns() throws Exception {
    String first;
    String second;
    Set<String> before;
    try (ChildDaemon agent = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      deploy(
          rest,
          "{concurrency: 1}",
          "echo ran $WORD; exec sleep ${LONG:-0}",
          "stop_grace_period: 1s");
      first = begin(rest, "{\"env\": {\"LONG\": \"1000\"}}");
      running(rest, first);
      assertThat(prepared(rest)).as("nobody waits").isEmpty();
      second = begin(rest, "{\"env\": {\"WORD\": \"two\"}}");
      before = Set.copyOf(filled(rest, 1).keySet());
      agent.kill();
    }
    try (ChildDaemon agent = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Map<String, Json> again =
          soon()
              .until(
                  () -> prepared(rest),
                  all -> all.size() == 1 && !before.containsAll(all.keySet()));
      String third = begin(rest, "{}");
      assertThat(rest.get("/executions/" + second).json().at("status").string())
          .contains("pending");
      rest.post("/executions/" + first + "/cancel").expect(200);
      Json end = end(rest, second);
      assertThat(again).containsOnlyKeys(container(end));
      assertThat(end.at("attempts").items()).hasSize(1);
      assertThat(log(rest, second)).isEqualTo("ran two\n");
      assertThat(end(rest, third).at("code").integer()).contains(0L);
      assertThat(log(rest, third)).isEqualTo("ran\n");
      soon().until(() -> rest.get("/containers?all=true").expect(200).json().items().isEmpty());
      remove(rest);
      int _ = agent.terminate();
    }
  }

  private static void running(Rest rest, String id) {
    soon()
        .untilAsserted(
            () ->
                assertThat(rest.get("/executions/" + id).json().at("status").string())
                    .contains("running"));
  }

  @Test
  void aScheduledRunIsCreatedBeforeItsTime() throws Exception {
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      String file =
          """
          version: v1
          deployment: early
          services:
            tick:
              rtype: cron
              schedule: '*/6 * * * * *'
              image: {name: "%s", pull_policy: never}
              network_mode: none
              command: [sh, -c, 'echo ran']
          """
              .formatted(Node.IMAGE);
      Rest.Reply reply = rest.put("/deployments/early", file.getBytes(StandardCharsets.UTF_8));
      assertThat(reply.status()).as(reply.text()).isIn(200, 202);
      String ready =
          soon()
              .until(() -> prepared(rest).keySet().stream().findFirst(), Optional::isPresent)
              .orElseThrow();
      Json run =
          soon()
              .until(
                  () ->
                      rest.get("/executions?job=early/tick").expect(200).json().items().stream()
                          .filter(one -> one.at("status").string().orElse("").equals("completed"))
                          .filter(one -> container(one).equals(ready))
                          .findFirst(),
                  Optional::isPresent)
              .orElseThrow();
      assertThat(log(rest, run.at("id").string().orElseThrow())).isEqualTo("ran\n");
      rest.post("/cron/early/tick/disable").expect(204);
      filled(rest, 0);
      remove(rest);
    }
  }
}
