package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The daemon is told to end, once by its operator and once because the machine goes down. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class HostShutdownIT {
  private static final String FILE =
      """
      version: v1
      deployment: pair
      services:
        db:
          image: {name: IMAGE, pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 0.1; done"]
          network_mode: none
        web:
          image: {name: IMAGE, pull_policy: never}
          command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 0.1; done"]
          network_mode: none
          depends: [db]
        work:
          rtype: job
          image: {name: IMAGE, pull_policy: never}
          command: [sh, -c, "trap 'exit 9' TERM; while :; do sleep 0.1; done"]
          network_mode: none
          job: {retries: 1}
      """;

  /** The first process of a container ignores what it has no handler for. */
  private static final String DEAF =
      """
      {"name": "deaf", "image": "IMAGE", "pull": "never", "command": ["sleep", "1000"],
       "network_mode": "none", "stop_grace_period": "1s", "restart_policy": {"kind": "always"}}
      """;

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
  void containersAreStoppedWithTheMachineAndComeBack() throws Exception {
    List<Long> before;
    try (ChildDaemon daemon = ChildDaemon.start(node, systemd("running"));
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      rest.put(
              "/deployments/pair?directory=/",
              FILE.replace("IMAGE", Node.IMAGE).getBytes(StandardCharsets.UTF_8))
          .expect(202);
      rest.post("/jobs/pair/work/executions", "{}").expect(201);
      rest.post("/containers", DEAF.replace("IMAGE", Node.IMAGE)).expect(201);
      before = awaitPids(rest);
      assertThat(daemon.terminate()).isIn(0, 143);
    }
    assertThat(before).as("containers go on without a daemon").allMatch(HostShutdownIT::alive);

    try (ChildDaemon daemon = ChildDaemon.start(node, systemd("stopping"))) {
      assertThat(daemon.terminate()).isIn(0, 143);
    }
    assertThat(before).as("containers end before the machine").noneMatch(HostShutdownIT::alive);

    try (ChildDaemon _ = ChildDaemon.start(node, systemd("running"));
        Rest rest = node.rest()) {
      assertThat(awaitPids(rest)).doesNotContainAnyElementsOf(before);
      List<Json> attempts =
          rest.get("/executions?job=pair/work")
              .expect(200)
              .json()
              .items()
              .getFirst()
              .at("attempts")
              .items();
      assertThat(attempts).as("one that failed, and the next").hasSize(2);
      assertThat(attempts.getFirst().at("code").integer()).contains(9L);
    }
  }

  /** What a service of systemd sees of it: a variable, and a program that tells the state. */
  private Map<String, String> systemd(String state) throws Exception {
    Path programs = Files.createDirectories(node.directory.resolve("programs"));
    Path systemctl = Files.writeString(programs.resolve("systemctl"), "#!/bin/sh\necho " + state);
    Files.setPosixFilePermissions(systemctl, PosixFilePermissions.fromString("rwxr-xr-x"));
    return Map.of("INVOCATION_ID", "test", "PATH", programs + ":" + System.getenv("PATH"));
  }

  private static List<Long> awaitPids(Rest rest) {
    return Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> pids(rest), pids -> pids.size() == 4);
  }

  private static List<Long> pids(Rest rest) throws InterruptedException {
    return rest.get("/containers").expect(200).json().items().stream()
        .map(container -> container.at("pid"))
        .map(Json::integer)
        .flatMap(java.util.Optional::stream)
        .toList();
  }

  private static boolean alive(long pid) {
    return ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isPresent();
  }
}
