package dev.zlayer.daemon;

import static dev.zlayer.daemon.IngressNode.await;
import static dev.zlayer.daemon.LoadedService.GOOD;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** No request fails under full load, whatever happens to replicas, ingress and agent. */
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.HAPROXY,
  Fact.WRK
})
class IngressLoadIT {
  private static IngressNode node;
  private LoadedService web;

  @BeforeAll
  static void open() throws Exception {
    node = new IngressNode();
    LoadedService.up(node, GOOD, "one", "");
    node.running("shop", "web");
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @BeforeEach
  void load() throws Exception {
    web = LoadedService.open(node);
  }

  @AfterEach
  void end() throws Exception {
    web.close();
  }

  @Test
  void duringARollingUpdateAReloadAndAKillOfTheAgent() throws Exception {
    long before = web.revision();
    LoadedService.up(node, GOOD, "two", ", strategy: rolling");
    web.awaitUpdated(before + 1);
    node.up(
        "other",
        """
        web:
          image: IMAGE
          command: %s
          endpoints: [{name: http, protocol: http, port: 8080, host: other.test}]
        """
            .formatted(GOOD));
    await("reloaded", () -> IngressNode.status(node.get("other.test", "/passwd")) == 200);
    node.kill();
    node.start();
    node.running("shop", "web");
    node.rest().delete("/deployments/other");

    web.assertNoneFailed();
  }

  @Test
  void whenReplicasAreScaledFromOneToFiveToNoneToOne() throws Exception {
    node.scale("shop", "web", 5);
    web.awaitReady(5);
    node.scale("shop", "web", 0);
    web.awaitReady(0);
    node.scale("shop", "web", 1);
    web.awaitReady(1);
    await("it serves", () -> IngressNode.status(node.get("shop.test", "/passwd")) == 200);

    web.assertNoneFailed();
  }
}
