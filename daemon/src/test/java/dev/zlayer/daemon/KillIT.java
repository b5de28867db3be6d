package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A real daemon is killed; what it ran goes on, and the next one knows everything. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class KillIT {
  private static final int SLEEPERS = 100;

  private Node node;

  @BeforeEach
  void open() throws Exception {
    node = new Node().with("network_pool", "0");
  }

  @AfterEach
  void close() throws Exception {
    node.close();
  }

  @Test
  void aHundredContainersAreKnownAgain() throws Exception {
    Map<String, Long> pids;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      try (var scope = new TaskScope("sleepers", 4)) {
        for (int i = 0; i < SLEEPERS; i++) {
          String name = "s" + i;
          scope.fork(() -> create(rest, name, "sleep 1000", ""));
        }
        scope.join();
      }
      create(rest, "restless", "sleep 1000", ",\"restart_policy\":{\"kind\":\"always\"}");
      pids = pids(rest);
      assertThat(pids).hasSize(SLEEPERS + 1);
      first.kill();
    }
    long restless = pids.remove("restless");
    ProcessHandle.of(restless).ifPresent(ProcessHandle::destroyForcibly);

    long began = System.nanoTime();
    try (Agent agent = Agent.open(node.configured().config(), Map.of(), Node.log())) {
      Duration took = Duration.ofNanos(System.nanoTime() - began);
      System.out.printf(
          "adopted %d containers in %d ms%n", agent.runtime().list().size(), took.toMillis());
      assertThat(agent.runtime().list()).hasSize(SLEEPERS + 1);
    }

    try (ChildDaemon second = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Awaitility.await().until(() -> pids(rest).containsKey("restless"));
      Map<String, Long> now = pids(rest);
      assertThat(now.remove("restless")).isNotEqualTo(restless);
      assertThat(now).isEqualTo(pids);
      assertThat(second.terminate()).isIn(0, 143);
    }
    assertThat(pids.values()).allMatch(pid -> ProcessHandle.of(pid).isPresent());
    assertThat(node.configured().config().directories().pidFile()).doesNotExist();
  }

  private static boolean create(Rest rest, String name, String script, String more)
      throws InterruptedException {
    rest.post(
            "/containers",
            "{\"name\":\"%s\",\"image\":\"%s\",\"pull\":\"never\",\"network_mode\":\"none\",\"command\":[\"sh\",\"-c\",\"%s\"]%s}"
                .formatted(name, Node.IMAGE, script, more))
        .expect(201);
    return true;
  }

  private static Map<String, Long> pids(Rest rest) throws InterruptedException {
    var pids = new HashMap<String, Long>();
    for (Json container : rest.get("/containers").expect(200).json().items()) {
      container
          .at("pid")
          .integer()
          .ifPresent(pid -> pids.put(container.at("name").string().orElseThrow(), pid));
    }
    return pids;
  }

  @Test
  void oneThatNobodyStartsIsRemovedAlsoByTheNextDaemon() throws Exception {
    String leased = ",\"start\":false,\"rm\":true,\"start_within\":\"2s\"";
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      create(rest, "forgotten", "sleep 1000", leased);
      create(rest, "kept", "sleep 1000", ",\"start\":false,\"rm\":true");
      create(rest, "started", "sleep 1000", leased);
      rest.post("/containers/started/start").expect(204);
      Awaitility.await().until(() -> rest.get("/containers/forgotten").status() == 404);
      create(rest, "cut", "sleep 1000", leased);
      first.kill();
    }
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Awaitility.await().until(() -> rest.get("/containers/cut").status() == 404);
      rest.get("/containers/kept").expect(200);
      rest.get("/containers/started").expect(200);
    }
  }

  @Test
  void aSecondDaemonNamesTheFirst() throws Exception {
    try (ChildDaemon first = ChildDaemon.start(node)) {
      assertThatThrownBy(() -> Agent.open(node.configured().config(), Map.of(), Node.log()).close())
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessageContaining("in use by process " + first.pid());
      assertThat(Files.readString(node.configured().config().directories().pidFile()).lines())
          .containsExactly(Long.toString(first.pid()), node.socket().toString());
    }
  }
}
