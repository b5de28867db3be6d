package dev.zlayer.daemon;

import static dev.zlayer.daemon.IngressNode.await;
import static dev.zlayer.daemon.LoadedService.GOOD;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Roll-outs in which old and new replicas serve side by side, under full load. */
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
class RolloutIT {
  /** It accepts connections, so its health check succeeds, and ends them without a response. */
  private static final String BROKEN = "[nc, -ll, -p, \"8080\", -e, \"true\"]";

  private static final String CANARY = ", strategy: canary, steps: [20%, 50%], bake: 2s";

  /** Steps that last until an agent was killed, started and asked on a loaded machine. */
  private static final String SLOW_CANARY = CANARY.replace("2s", "6s");

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
  void aBrokenCanaryIsRolledBackBeforeARequestFails() throws Exception {
    long before = web.revision();
    LoadedService.up(node, BROKEN, "broken", CANARY);
    await(
        "rolled back",
        () ->
            web.status().at("rollout").at("rolled_back_to").integer().orElse(0L) == before
                && web.replicas() == 1);
    assertThat(web.status().at("rollout").at("reason").at("message").string().orElse(""))
        .contains("requests to the new replicas failed", "max_error_rate is 5%");

    web.assertNoneFailed();
  }

  @Test
  void aCanaryContinuesAtItsStepWhenTheAgentIsKilled() throws Exception {
    long before = web.revision();
    long worker = node.worker();
    LoadedService.up(node, GOOD, "canary", SLOW_CANARY);
    await("a step", () -> step().startsWith("canary, 20%"));
    node.kill();
    node.start();
    await("the step", () -> step().startsWith("canary, 20%") || step().startsWith("canary, 50%"));
    await("updated", () -> web.revision() > before && web.status().at("rollout").isNull());

    assertThat(node.worker()).as("weights change without a reload").isEqualTo(worker);
    web.assertNoneFailed();
  }

  private String step() throws InterruptedException {
    return web.status().at("rollout").at("step").string().orElse("");
  }

  @Test
  void allReplicasAreReplacedAtOnce() throws Exception {
    LoadedService.up(node, GOOD, "green", ", strategy: blue_green, bake: 1s");
    await("both sets", () -> web.replicas() == 2);
    await("updated", () -> web.replicas() == 1 && web.status().at("rollout").isNull());

    web.assertNoneFailed();
  }
}
