package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Containers of replicas that are created before they are started, with real ones, over REST. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class PreparedReplicasIT {
  /** So long that the time for which a container waits is not cut short. */
  private static final String BACKOFF = "restart_policy: {kind: always, delay: 7s}";

  private Node node;

  @BeforeEach
  void open() throws Exception {
    node = new Node().with("network_pool", "0");
  }

  @AfterEach
  void close() throws Exception {
    node.close();
  }

  private static ConditionFactory soon() {
    return Awaitility.await().atMost(Duration.ofSeconds(90)).pollInterval(Duration.ofMillis(20));
  }

  private static void deploy(Rest rest, String word, String more) throws InterruptedException {
    String file =
        """
        version: v1
        deployment: early
        services:
          web:
            image: {name: "%s", pull_policy: never}
            command: [sh, -c, 'echo %s; exec sleep 1000']
            stop_grace_period: 1s
            %s
        """
            .formatted(Node.IMAGE, word, more);
    Rest.Reply reply = rest.put("/deployments/early", file.getBytes(StandardCharsets.UTF_8));
    assertThat(reply.status()).as(reply.text()).isIn(200, 202);
  }

  private static void remove(Rest rest) throws InterruptedException {
    assertThat(rest.delete("/deployments/early").status()).isIn(200, 202, 204);
    soon().until(() -> all(rest).isEmpty());
  }

  private static List<Json> all(Rest rest) throws InterruptedException {
    return rest.get("/containers?all=true").expect(200).json().items();
  }

  private static List<Json> in(Rest rest, String state) throws InterruptedException {
    return all(rest).stream().filter(one -> text(one, "state").equals(state)).toList();
  }

  /** The only one in that state, as soon as there is one. */
  private static Json one(Rest rest, String state) {
    return soon().until(() -> in(rest, state), found -> found.size() == 1).getFirst();
  }

  private static String text(Json one, String key) {
    return one.at(key).string().orElse("");
  }

  private static String id(Json one) {
    return text(one, "id");
  }

  private static boolean lives(Json one) {
    return Files.exists(Path.of("/proc", Long.toString(one.at("pid").integer().orElseThrow())));
  }

  private static String log(Rest rest, String container) throws InterruptedException {
    return rest.get("/containers/" + container + "/logs?format=raw").text();
  }

  private static Json crashed(Rest rest) throws InterruptedException {
    Json first = one(rest, "running");
    rest.post("/containers/" + id(first) + "/kill?signal=KILL").expect(204);
    return first;
  }

  @Test
  void theSuccessorOfACrashedReplicaIsCreatedWhileItWaits() throws Exception {
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      deploy(rest, "begun", BACKOFF + "\n    resources: {memory: 64Mi}");
      Json first = crashed(rest);

      Json prepared = one(rest, "prepared");
      assertThat(id(prepared)).isNotEqualTo(id(first));
      assertThat(lives(prepared)).isTrue();
      assertThat(rest.get("/containers").expect(200).json().items()).as("none runs").isEmpty();
      assertThat(log(rest, id(prepared))).isEmpty();
      assertThat(rest.get("/containers/early:web").status()).as("it is nobody yet").isEqualTo(404);
      Json stats = rest.get("/containers/" + id(prepared) + "/stats").expect(200).json();
      assertThat(stats.at("memory_bytes").integer().orElse(0L)).isBetween(1L, 64L << 20);
      assertThat(rest.get("/events").text().split("replica.starting", -1)).hasSize(2);
      Instant seen = Instant.now();

      Json second = one(rest, "running");
      assertThat(id(second)).isEqualTo(id(prepared));
      assertThat(second.at("pid")).isEqualTo(prepared.at("pid"));
      assertThat(Instant.parse(text(second, "created"))).isBefore(seen);
      soon().untilAsserted(() -> assertThat(log(rest, id(second))).isEqualTo("begun\n"));
      assertThat(all(rest)).hasSize(1);
      remove(rest);
      assertThat(lives(second)).isFalse();
    }
  }

  @Test
  void aChangedFileOrSecretDiscardsIt() throws Exception {
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      String more = BACKOFF + "\n    env: {KEY: '$S:key'}";
      setSecret(rest, "one");
      deploy(rest, "$KEY", more);
      String first = id(crashed(rest));
      Json old = one(rest, "prepared");

      deploy(rest, "new $KEY", more);
      Json second = other(rest, first, id(old));
      assertThat(lives(old)).isFalse();
      soon().untilAsserted(() -> assertThat(log(rest, id(second))).isEqualTo("new one\n"));

      assertThat(id(crashed(rest))).isEqualTo(id(second));
      Json older = one(rest, "prepared");
      setSecret(rest, "two");
      Json third = other(rest, id(second), id(older));
      assertThat(lives(older)).isFalse();
      soon().untilAsserted(() -> assertThat(log(rest, id(third))).isEqualTo("new two\n"));
      remove(rest);
    }
  }

  /** The only container there is, once it is none of these and runs. */
  private static Json other(Rest rest, String... before) {
    return soon()
        .until(
            () -> all(rest),
            found ->
                found.size() == 1
                    && text(found.getFirst(), "state").equals("running")
                    && !List.of(before).contains(id(found.getFirst())))
        .getFirst();
  }

  private static void setSecret(Rest rest, String value) throws InterruptedException {
    Rest.Reply reply =
        rest.put("/secrets/key?deployment=early", value.getBytes(StandardCharsets.UTF_8));
    assertThat(reply.status()).as(reply.text()).isIn(200, 201, 204);
  }

  @Test
  void aKilledAgentLeavesNone() throws Exception {
    Json old;
    String first;
    try (ChildDaemon agent = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      deploy(rest, "begun", BACKOFF);
      first = id(crashed(rest));
      old = one(rest, "prepared");
      agent.kill();
    }
    assertThat(lives(old)).isTrue();
    try (ChildDaemon agent = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Json second = other(rest, first, id(old));
      assertThat(lives(old)).isFalse();
      soon().untilAsserted(() -> assertThat(log(rest, id(second))).isEqualTo("begun\n"));

      String again = id(crashed(rest));
      Json last = one(rest, "prepared");
      assertThat(id(last)).isNotEqualTo(again);
      int _ = agent.terminate();
      assertThat(lives(last)).as("one that ends in order takes it along").isFalse();
    }
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      assertThat(id(one(rest, "running"))).isNotEqualTo(first);
      remove(rest);
    }
  }

  @Test
  void theNextOfARollOutIsCreatedWhileTheOneBeforeProvesItself() throws Exception {
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      String more = "scale: {mode: fixed, replicas: 2}\n    update: {min_healthy_time: 3s}";
      deploy(rest, "one", more);
      soon().until(() -> in(rest, "running").size() == 2);
      List<String> before = in(rest, "running").stream().map(PreparedReplicasIT::id).toList();

      deploy(rest, "two", more);
      Json next = one(rest, "prepared");
      assertThat(text(next, "name")).isEqualTo("early/web/2");
      assertThat(log(rest, id(next))).isEmpty();
      assertThat(id(rest.get("/containers/early:web:2").expect(200).json().at("container")))
          .as("the one that runs")
          .isIn(before);
      soon()
          .untilAsserted(
              () ->
                  assertThat(in(rest, "running"))
                      .hasSize(2)
                      .extracting(PreparedReplicasIT::id)
                      .doesNotContainAnyElementsOf(before)
                      .contains(id(next)));
      soon().untilAsserted(() -> assertThat(log(rest, id(next))).isEqualTo("two\n"));
      soon().until(() -> all(rest).size() == 2);
      remove(rest);
    }
  }
}
