package dev.zlayer.daemon;

import static dev.zlayer.daemon.DockerChild.body;
import static dev.zlayer.daemon.DockerChild.sleepers;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Compression;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.registry.LocalRegistry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The agent is killed while clients of Docker work; nothing is lost and nothing is left. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DockerFaultsIT {
  private static final Map<String, ?> NO_NETWORK = Map.of("NetworkMode", "none");
  private static final int CREATES = 24;
  private static final int MANY = 200;

  private DockerChild child;

  @BeforeEach
  void open() throws Exception {
    child = new DockerChild();
  }

  @AfterEach
  void close() throws Exception {
    child.close();
  }

  /** Whoever got an answer finds the container again; the others can make theirs anew. */
  @Test
  void containersThatWereBeingCreatedAreWholeOrAbsent() throws Exception {
    Set<String> made = ConcurrentHashMap.newKeySet();
    try (ChildDaemon daemon = child.startWithImage()) {
      var some = new CountDownLatch(6);
      try (var scope = new TaskScope("create")) {
        for (int i = 0; i < CREATES; i++) {
          String name = "c" + i;
          scope.fork(() -> createUntilKilled(name, made, some));
        }
        assertThat(some.await(60, TimeUnit.SECONDS)).isTrue();
        daemon.kill();
        scope.join();
      }
    }
    try (ChildDaemon daemon = child.start();
        DockerWire wire = child.wire()) {
      for (String name : made) {
        wire.send("GET", "/containers/" + name + "/json").expect(200);
      }
      for (int i = 0; i < CREATES; i++) {
        String name = "c" + i;
        if (wire.send("GET", "/containers/" + name + "/json").status() == 404) {
          wire.create(name, body(Map.of(), "sleep", "300"));
        }
        if (i % 6 == 0) {
          wire.send("POST", "/containers/" + name + "/start").expect(204);
        }
        wire.send("DELETE", "/containers/" + name + "?force=1").expect(204);
      }
      assertThat(wire.send("GET", "/containers/json?all=1").json().items()).isEmpty();
      daemon.terminate();
    }
    child.assertNothingLeft();
  }

  private boolean createUntilKilled(String name, Set<String> made, CountDownLatch some)
      throws InterruptedException {
    try (DockerWire wire = child.wire()) {
      wire.create(name, body(Map.of("PublishAllPorts", true), "sleep", "300"));
      made.add(name);
      some.countDown();
      return true;
    } catch (AgentException.Network | AgentException.Timeout _) {
      return false; // it was killed before it answered
    }
  }

  @Test
  void twoHundredContainersAreCreatedAtOnce() throws Exception {
    try (ChildDaemon daemon = child.startWithImage();
        DockerWire wire = child.wire()) {
      var made = new ArrayList<TaskScope.Task<String>>();
      try (var scope = new TaskScope("create")) {
        for (int i = 0; i < MANY; i++) {
          made.add(scope.fork(this::createUnnamed));
        }
        scope.join();
      }
      assertThat(made.stream().map(TaskScope.Task::result).distinct()).hasSize(MANY);
      List<Json> listed = wire.send("GET", "/containers/json?all=1").json().items();
      assertThat(listed.stream().map(one -> one.at("Names").strings().getFirst()).distinct())
          .hasSize(MANY)
          .allMatch(name -> name.matches("/[a-z]+_[a-z]+[0-9]*"));
      wire.send("POST", "/containers/prune").expect(200);
      assertThat(wire.send("GET", "/containers/json?all=1").json().items()).isEmpty();
      daemon.terminate();
    }
    child.assertNothingLeft();
  }

  private String createUnnamed() throws InterruptedException {
    try (DockerWire wire = child.wire()) {
      return wire.post("/containers/create", body(NO_NETWORK, "true"))
          .expect(201)
          .json()
          .at("Id")
          .string()
          .orElseThrow();
    }
  }

  /** The agent is killed while clients are attached and while a process runs inside. */
  @Test
  void whatRanInsideEndsAndTheContainerDoesNot() throws Exception {
    int seconds = DockerChild.ownSeconds();
    String id;
    try (ChildDaemon daemon = child.startWithImage();
        DockerWire wire = child.wire();
        var attached = wire.raw();
        var inside = wire.raw()) {
      id =
          wire.create(
              "host",
              body(NO_NETWORK, "sh", "-c", "echo begun; while :; do echo tick; sleep 0.1; done"));
      attached.send(
          "POST /containers/host/attach?stream=1&stdout=1 HTTP/1.1\r\nHost: x\r\n"
              + "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
      assertThat(attached.head()).startsWith("HTTP/1.1 101");
      wire.send("POST", "/containers/host/start").expect(204);
      String exec =
          wire.post(
                  "/containers/host/exec",
                  "{\"Cmd\":[\"sh\",\"-c\",\"echo in; exec sleep %d\"],\"AttachStdout\":true}"
                      .formatted(seconds))
              .expect(201)
              .json()
              .at("Id")
              .string()
              .orElseThrow();
      inside.send(
          "POST /exec/%s/start HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
                  .formatted(exec)
              + "Content-Length: 2\r\n\r\n{}");
      assertThat(inside.head()).startsWith("HTTP/1.1 101");
      Awaitility.await().atMost(DockerChild.LIMIT).until(() -> !sleepers(seconds).isEmpty());
      daemon.kill();
      assertThat(DockerWire.frames(inside.rest())).isIn("", "1:in\n");
      assertThat(attached.rest()).isNotNull(); // the connection ends
    }
    try (ChildDaemon daemon = child.start();
        DockerWire wire = child.wire()) {
      Json found = wire.send("GET", "/containers/host/json").expect(200).json();
      assertThat(found.at("Id").string()).contains(id);
      assertThat(found.at("State").at("Running").bool()).contains(true);
      Awaitility.await().atMost(DockerChild.LIMIT).until(() -> sleepers(seconds).isEmpty());
      assertThat(found.at("ExecIDs").items()).isEmpty();
      String log =
          DockerWire.frames(
              wire.send("GET", "/containers/" + id.substring(0, 9) + "/logs?stdout=1")
                  .expect(200)
                  .text()
                  .getBytes(StandardCharsets.ISO_8859_1));
      assertThat(log).startsWith("1:begun\n1:tick\n");
      wire.send("POST", "/containers/host/stop?t=0").expect(204);
      wire.send("DELETE", "/containers/host").expect(204);
      daemon.terminate();
    }
    child.assertNothingLeft();
  }

  @Test
  @Requires(Fact.DOCKER_REGISTRY)
  void aPullThatWasCutIsDoneAgain() throws Exception {
    var noise = new byte[24 << 20];
    new Random(7).nextBytes(noise);
    try (LocalRegistry registry = LocalRegistry.start()) {
      registry.push(
          ImageMaker.busybox()
              .layer(Compression.NONE, List.of(TarEntry.file("noise", noise)))
              .cmd("sh"),
          "large:1");
      String path = "/images/create?fromImage=%s/large&tag=1".formatted(registry.host());
      try (ChildDaemon daemon = child.start();
          DockerWire wire = child.wire();
          var raw = wire.raw()) {
        raw.send("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        assertThat(raw.head()).startsWith("HTTP/1.1 200"); // so the pull has begun
        daemon.kill();
        assertThat(raw.rest()).isNotNull();
      }
      try (ChildDaemon daemon = child.start();
          Rest rest = child.node.rest();
          DockerWire wire = child.wire()) {
        assertThat(wire.send("POST", path).expect(200).text())
            .contains("Status: ")
            .doesNotContain("errorDetail");
        wire.post(
                "/containers/create?name=user",
                "{\"Image\":\"%s/large:1\",\"Cmd\":[\"test\",\"-s\",\"/noise\"]}"
                    .formatted(registry.host()))
            .expect(201);
        wire.send("POST", "/containers/user/start").expect(204);
        assertThat(wire.send("POST", "/containers/user/wait").json().at("StatusCode").integer())
            .contains(0L);
        wire.send("DELETE", "/containers/user?force=1").expect(204);
        assertThat(rest.post("/images/check", "{}").json().at("sound").bool()).contains(true);
        daemon.terminate();
      }
    }
    child.assertNothingLeft();
  }

  /** A build ends with the agent, before there is another one to end it. */
  @ParameterizedTest
  @ValueSource(strings = {"/build?t=localhost/cut:1", "/api/v1/images/build?tag=localhost/cut:1"})
  @Requires(Fact.BUILDAH)
  void aBuildEndsWithTheAgentAndLeavesNothing(String path) throws Exception {
    int seconds = DockerChild.ownSeconds();
    try (ChildDaemon daemon = child.startWithImage();
        DockerWire wire = path.startsWith("/api") ? own() : child.wire();
        var raw = wire.raw()) {
      raw.post(path, DockerChild.sleepingBuild(seconds));
      assertThat(raw.head()).startsWith("HTTP/1.1 200");
      Awaitility.await().atMost(DockerChild.LIMIT).until(() -> !sleepers(seconds).isEmpty());
      daemon.kill();
      Awaitility.await().atMost(DockerChild.LIMIT).until(() -> sleepers(seconds).isEmpty());
    }
    try (ChildDaemon daemon = child.start();
        DockerWire wire = child.wire()) {
      assertThat(child.builds()).doesNotExist();
      wire.send("GET", "/images/localhost/cut:1/json").expect(404);
      daemon.terminate();
    }
    child.assertNothingLeft();
  }

  private DockerWire own() {
    return new DockerWire(child.node.socket());
  }
}
