package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A job runs while its daemon is killed; the next one tells its true end. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class KillJobsIT {
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
  void jobsGoOnAcrossAKill() throws Exception {
    String id;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      deploy(rest);
      id =
          rest.post("/jobs/across/slow/executions", "{}")
              .expect(201)
              .json()
              .at("id")
              .string()
              .orElseThrow();
      Awaitility.await()
          .until(() -> rest.get("/executions/" + id + "/logs").text().contains("before"));
      first.kill();
    }
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Json end = rest.get("/executions/" + id + "/wait?timeout=30s").expect(200).json();
      assertThat(end.at("status").string()).contains("failed");
      assertThat(end.at("code").integer()).contains(42L);
      assertThat(end.at("attempts").items()).hasSize(1);
      assertThat(rest.get("/executions/" + id + "/logs?format=raw").text())
          .isEqualTo("before\nafter\n");
    }
  }

  private static void deploy(Rest rest) throws InterruptedException {
    String file =
        """
        version: v1
        deployment: across
        services:
          slow:
            rtype: job
            image: {name: "%s", pull_policy: never}
            command: [sh, -c, "echo before; sleep 4; echo after; exit 42"]
        """
            .formatted(Node.IMAGE);
    assertThat(rest.put("/deployments/across", file.getBytes(StandardCharsets.UTF_8)).status())
        .isIn(200, 202);
  }
}
