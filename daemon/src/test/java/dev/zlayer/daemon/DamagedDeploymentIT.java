package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.SqliteStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.state.StoreConfig;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A deployment whose files and rows are garbled, before a start and while the daemon runs. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DamagedDeploymentIT {
  private static final String FILE =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: {name: %s, pull_policy: never}
          command: [sh, -c, "mkdir /www; echo hello > /www/index.html; exec httpd -f -p 8080 -h /www"]
          stop_grace_period: 1s
          endpoints: [{name: http, protocol: http, port: %d, target_port: 8080, expose: public}]
        report:
          rtype: job
          image: {name: %s, pull_policy: never}
          command: [sleep, "1000"]
        tick:
          rtype: cron
          schedule: "@every 1h"
          image: {name: %s, pull_policy: never}
      """;

  private Node node;
  private int port;

  @BeforeEach
  void open() throws Exception {
    node = new Node().with("network_pool", "0");
    port = FreePorts.take();
  }

  @AfterEach
  void close() throws Exception {
    node.close();
  }

  private void up(Rest rest, int status) throws InterruptedException {
    String file = FILE.formatted(Node.IMAGE, port, Node.IMAGE, Node.IMAGE);
    rest.put("/deployments/shop?directory=/", file.getBytes(StandardCharsets.UTF_8)).expect(status);
  }

  /** Deploys it, waits until it serves, and returns the process of its replica. */
  private long deployed(Rest rest) throws InterruptedException {
    Node.loadImage(rest);
    up(rest, 202);
    serves();
    return pid(rest);
  }

  private static long pid(Rest rest) throws InterruptedException {
    return web(rest).at("pid").integer().orElseThrow();
  }

  private static Json web(Rest rest) throws InterruptedException {
    return rest.get("/containers?all=true").expect(200).json().items().stream()
        .filter(one -> one.at("service").string().orElse("").equals("web"))
        .findFirst()
        .orElseThrow();
  }

  private void serves() {
    try (var client = HttpClient.newHttpClient()) {
      Awaitility.await()
          .atMost(Duration.ofSeconds(40))
          .ignoreExceptionsMatching(IOException.class::isInstance)
          .until(
              () ->
                  client
                      .send(
                          HttpRequest.newBuilder(
                                  URI.create("http://127.0.0.1:%d/index.html".formatted(port)))
                              .timeout(Duration.ofSeconds(2))
                              .build(),
                          BodyHandlers.ofString())
                      .body()
                      .equals("hello\n"));
    }
  }

  /** All that the agent wrote about networks, endpoints, images and the choice of runtimes. */
  private List<Path> files() throws IOException {
    var all = new ArrayList<Path>();
    for (String top :
        List.of(
            "run/endpoints",
            "run/network",
            "network",
            "dispatch",
            "images/index.json",
            "run/oci-tools.json")) {
      try (Stream<Path> below = Files.walk(node.directory.resolve(top))) {
        below
            .filter(Files::isRegularFile)
            // a namespace is a mount that looks like a file; its record is all that is known of it
            .filter(file -> !file.toString().matches(".*/(netns|held)/.*"))
            .forEach(all::add);
      }
    }
    assertThat(all).extracting(Path::toString).anyMatch(name -> name.contains("endpoints/service"));
    assertThat(all).extracting(Path::toString).anyMatch(name -> name.contains("/addresses/"));
    return all;
  }

  private void noStackTrace() throws IOException {
    assertThat(Files.readString(node.directory.resolve("daemon.log"))).doesNotContain("\tat ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\0\0{{", "{\"version\":99}"})
  void garbledFilesCostNoServiceAndKeepNothingFromWorking(String content) throws Exception {
    long before;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      before = deployed(rest);
      first.kill();
    }
    for (Path file : files()) {
      // an index that a later program wrote is refused instead, see ImageIndexTest
      Files.writeString(
          file, file.endsWith("images/index.json") && content.contains("99") ? "" : content);
    }
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      rest.get("/health/ready").expect(200);
      serves();
      assertThat(pid(rest)).as("it was not started again").isEqualTo(before);
      Node.loadImage(rest);
      rest.post(
              "/containers",
              "{\"name\":\"fresh\",\"image\":\"%s\",\"pull\":\"never\",\"command\":[\"sleep\",\"100\"]}"
                  .formatted(Node.IMAGE))
          .expect(201);
      rest.delete("/containers/fresh?force=true").expect(204);
      removed(rest);
      noStackTrace();
    }
  }

  private static void removed(Rest rest) throws InterruptedException {
    rest.delete("/deployments/shop").expect(202);
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> rest.get("/deployments/shop").status() == 404);
    assertThat(rest.get("/containers?all=true").expect(200).json().items()).isEmpty();
  }

  @Test
  void whatIsGarbledWhileTheDaemonRunsIsWrittenAnewOrNotNeeded() throws Exception {
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      long before = deployed(rest);
      for (Path file : files()) {
        Files.writeString(file, "\0\0{{");
      }
      try (Stream<Path> containers = Files.list(node.directory.resolve("containers"))) {
        for (Path container : containers.toList()) {
          Files.writeString(container.resolve("record.json"), "\0\0{{");
        }
      }
      serves();
      assertThat(pid(rest)).isEqualTo(before);
      assertThat(rest.get("/images").expect(200).json().items()).isNotEmpty();
      rest.post(
              "/containers",
              "{\"name\":\"fresh\",\"image\":\"%s\",\"pull\":\"never\",\"command\":[\"sleep\",\"100\"]}"
                  .formatted(Node.IMAGE))
          .expect(201);
      rest.delete("/containers/fresh?force=true").expect(204);
      removed(rest);
      noStackTrace();
    }
  }

  private void rows(String content) throws Exception {
    try (StateStore store =
        SqliteStateStore.open(node.directory.resolve("state.db"), StoreConfig.DEFAULT)) {
      for (String kind : List.of("deployment", "service", "job.execution", "cron.schedule")) {
        List<StateStore.Entry> entries = store.list(kind);
        assertThat(entries).as(kind).isNotEmpty();
        for (StateStore.Entry entry : entries) {
          store.commit(
              Change.of(
                  new Change.Put(kind, entry.key(), content.getBytes(StandardCharsets.UTF_8))));
        }
      }
    }
  }

  /** A row of any kind that nobody can read: the others are read, and the agent serves. */
  @ParameterizedTest
  @ValueSource(strings = {"\0{{", "{}", "{\"version\":99}"})
  void noRowKeepsTheAgentFromStarting(String content) throws Exception {
    List<String> kinds =
        List.of(
            "audit",
            "cron.schedule",
            "dashboard-session",
            "deployment",
            "deployment.revision",
            "idempotency",
            "job",
            "job.counter",
            "job.execution",
            "job.gate",
            "secret",
            "service",
            "service.ended",
            "standalone.stopped",
            "token",
            "volume.quiesced");
    try (StateStore store =
        SqliteStateStore.open(node.directory.resolve("state.db"), StoreConfig.DEFAULT)) {
      for (String kind : kinds) {
        store.commit(
            Change.of(
                new Change.Put(
                    kind,
                    kind.equals("audit") ? "%019d".formatted(1) : "x/y",
                    content.getBytes(StandardCharsets.UTF_8))));
      }
    }
    for (int start = 0; start < 2; start++) {
      try (ChildDaemon daemon = ChildDaemon.start(node);
          Rest rest = node.rest()) {
        rest.get("/tokens").expect(200);
        rest.get("/dashboard/sessions").expect(200);
        rest.get("/deployments").expect(200);
        rest.get("/executions").expect(200);
        assertThat(rest.get("/audit").expect(200).text()).contains("damaged");
        daemon.kill();
      }
    }
    noStackTrace();
  }

  @Test
  void rowsOfALaterVersionAreLeftAloneAndSoAreTheirContainers() throws Exception {
    long before;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      before = deployed(rest);
      rest.post("/jobs/shop/report/executions", "{}").expect(201);
      Awaitility.await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> rest.get("/containers").expect(200).json().items().size() == 2);
      first.kill();
    }
    rows("{\"version\":99,\"new\":true}");
    try (ChildDaemon second = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      assertThat(pid(rest)).isEqualTo(before);
      serves();
      assertThat(rest.get("/containers").expect(200).json().items()).hasSize(2);
      assertThat(rest.get("/info").expect(200).json().at("damages").strings())
          .anyMatch(text -> text.contains("deployment shop") && text.contains("version 99"))
          .anyMatch(text -> text.contains("record job.execution/"));
      up(rest, 409);
      Node.loadImage(rest);
      rest.delete("/containers/" + web(rest).at("id").string().orElseThrow() + "?force=true")
          .expect(204);
      assertThat(rest.get("/containers").expect(200).json().items()).hasSize(1);
      noStackTrace();
      second.kill();
    }
    try (StateStore store =
        SqliteStateStore.open(node.directory.resolve("state.db"), StoreConfig.DEFAULT)) {
      assertThat(
              store
                  .find("deployment", "shop")
                  .map(JsonText::parse)
                  .orElseThrow()
                  .at("version")
                  .integer())
          .contains(99L);
      assertThat(store.keys("quarantine", "job.execution/")).hasSize(1);
    }
  }

  @Test
  void damagedRowsCostNoContainerAndTheDeploymentGoesOn() throws Exception {
    long before;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      before = deployed(rest);
      rest.post("/jobs/shop/report/executions", "{}").expect(201);
      first.kill();
    }
    rows("\0\0{{");
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      rest.get("/health/ready").expect(200);
      serves();
      assertThat(pid(rest)).isEqualTo(before);
      rest.get("/deployments/shop").expect(200);
      noStackTrace();
    }
  }
}
