package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.port.Container;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A database-like service, a migration that must complete, three web replicas behind one public
 * port and a schedule: from `up` through death, failure, kill and reboot to `down`.
 */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DeploymentIT {
  private static final String FILE =
      """
      version: v1
      deployment: shop
      services:
        db:
          image: {name: IMAGE, pull_policy: never}
          command: [sh, -c, "mkdir /www; echo data > /www/index.html; exec httpd -f -p 5432 -h /www"]
          stop_grace_period: 1s
          endpoints: [{name: sql, protocol: tcp, port: 5432}]
        migrate:
          rtype: job
          image: {name: IMAGE, pull_policy: never}
          depends: [db]
          command: [sh, -c, "wget -q -O - http://db:5432/index.html"]
        web:
          image: {name: WEB, pull_policy: never}
          depends: [{service: migrate, condition: completed}]
          scale: {mode: fixed, replicas: 3}
          command: [sh, -c, "mkdir /www; echo VERSION > /www/index.html; exec httpd -f -p 8080 -h /www"]
          stop_grace_period: 1s
          endpoints: [{name: http, protocol: http, port: PORT, target_port: 8080, expose: public}]
          health: {check: {type: http, url: /index.html}, interval: 1s}
          update: {min_healthy_time: 300ms}
        tick:
          rtype: cron
          schedule: "@every 1h"
          image: {name: IMAGE, pull_policy: never}
      """;

  /** From noticing that a replica is dead until nobody is led to it, on a busy machine. */
  private static final Duration TAKEN_OUT = Duration.ofSeconds(2);

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

  private void up(Rest rest, String image, String version) throws InterruptedException {
    String file =
        FILE.replace("IMAGE", Node.IMAGE)
            .replace("WEB", image)
            .replace("VERSION", version)
            .replace("PORT", Integer.toString(port));
    rest.put("/deployments/shop?directory=/", file.getBytes(StandardCharsets.UTF_8)).expect(202);
  }

  private static Json shop(Rest rest) throws InterruptedException {
    return rest.get("/deployments/shop").expect(200).json();
  }

  private static Json service(Rest rest, String name) throws InterruptedException {
    return rest.get("/deployments/shop/services/" + name).expect(200).json();
  }

  private static void await(String what, java.util.concurrent.Callable<Boolean> holds) {
    Awaitility.await(what)
        .pollInterval(Duration.ofMillis(20))
        .atMost(Duration.ofSeconds(60))
        .until(holds);
  }

  private static void awaitRunning(Rest rest, long revision) {
    await(
        "revision %d runs".formatted(revision),
        () -> {
          Json web = service(rest, "web");
          return shop(rest).at("state").string().orElse("").equals("running")
              && web.at("revision").integer().orElse(0L) == revision;
        });
  }

  private static Map<String, Long> pids(Rest rest) throws InterruptedException {
    var pids = new TreeMap<String, Long>();
    for (Json container : rest.get("/containers").expect(200).json().items()) {
      container
          .at("pid")
          .integer()
          .ifPresent(pid -> pids.put(container.at("id").string().orElseThrow(), pid));
    }
    return pids;
  }

  private static List<String> events(Rest rest, String kind) throws InterruptedException {
    return rest.get("/events?kind=" + kind).expect(200).json().at("events").items().stream()
        .map(event -> event.at("subject").string().orElse(""))
        .toList();
  }

  @Test
  void livesThroughEverything() throws Exception {
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      up(rest, Node.IMAGE, "one");
      awaitRunning(rest, 1);
      inOrder(events(rest, "replica.started"));
      try (var load = LoadLoop.on(port)) {
        load.awaitRequests(50);
        replicasAreShownAndNotStoppedOneByOne(rest);
        killedReplicaIsReplaced(rest, load);
        brokenImageIsTakenBack(rest, load);
        up(rest, Node.IMAGE, "two");
        awaitRunning(rest, 3);
        load.awaitAnswer("two");
        load.awaitRequests(50);
        assertThat(load.failures()).as("during an update").isEmpty();
        Map<String, Long> before = pids(rest);
        first.kill();
        load.awaitRequests(100);
        assertThat(load.failures()).as("without an agent").isEmpty();
        try (ChildDaemon second = ChildDaemon.start(node);
            Rest again = node.rest()) {
          awaitRunning(again, 3);
          load.awaitRequests(50);
          assertThat(pids(again)).as("nothing was restarted").isEqualTo(before);
          assertThat(load.failures()).as("with the next agent").isEmpty();
          second.kill();
        }
      }
    }
    reboot();
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      awaitRunning(rest, 3);
      List<String> started = events(rest, "replica.started");
      inOrder(started.subList(started.size() - 4, started.size()));
      rest.delete("/deployments/shop?wait=60s");
      await("it is gone", () -> rest.get("/deployments/shop").status() == 404);
      assertThat(rest.get("/containers?all=true").json().items()).isEmpty();
      Awaitility.await()
          .untilAsserted(
              () ->
                  assertThat(new NodeLeaks(node).find())
                      .as("what it left on the machine")
                      .isEmpty());
    }
  }

  private static void inOrder(List<String> started) {
    assertThat(started).hasSize(4);
    assertThat(started.getFirst()).startsWith("shop/db/");
    assertThat(started.subList(1, 4)).allMatch(id -> id.startsWith("shop/web/"));
  }

  /** Whether it runs is for the deployment to say, so a container's own route only points there. */
  private static void replicasAreShownAndNotStoppedOneByOne(Rest rest) throws InterruptedException {
    List<Json> web = rest.get("/containers?service=web").expect(200).json().items();
    assertThat(web).allMatch(one -> one.at("health").string().orElse("").equals("healthy"));
    String one = web.getFirst().at("id").string().orElseThrow();
    for (String verb : List.of("stop", "start", "restart")) {
      assertThat(rest.post("/containers/" + one + "/" + verb).expect(409).json().at("detail"))
          .asString()
          .contains("zlayer " + verb + " shop/web");
    }
    assertThat(rest.delete("/containers/" + one).expect(409).text()).contains("zlayer down shop");
    assertThat(pids(rest)).containsKey(one);
  }

  private static void killedReplicaIsReplaced(Rest rest, LoadLoop load)
      throws InterruptedException {
    Map<String, Long> before = pids(rest);
    Map.Entry<String, Long> victim =
        before.entrySet().stream().filter(one -> one.getKey().contains("web")).findFirst().get();
    Instant killed = Instant.now();
    ProcessHandle.of(victim.getValue()).orElseThrow().destroyForcibly();
    await("replaced", () -> !pids(rest).containsKey(victim.getKey()) && pids(rest).size() == 4);
    awaitRunning(rest, 1);
    load.awaitRequests(50);
    Json exited = rest.get("/events?kind=replica.exited").json().at("events").items().getFirst();
    Instant noticed = Instant.parse(exited.at("time").string().orElseThrow());
    System.out.printf(
        "a killed replica cost %d requests, noticed after %d ms%n",
        load.failures().size(), Duration.between(killed, noticed).toMillis());
    assertThat(load.failures())
        .as("once it is out of rotation nobody is led to it")
        .allMatch(failure -> failure.began().isBefore(noticed.plus(TAKEN_OUT)));
    load.forgive();
  }

  private void brokenImageIsTakenBack(Rest rest, LoadLoop load) throws InterruptedException {
    Map<String, Long> before = pids(rest);
    up(rest, "localhost/nosuch:1", "broken");
    await(
        "taken back",
        () -> service(rest, "web").at("rollout").at("rolled_back_to").integer().isPresent());
    await("steady", () -> service(rest, "web").at("state").string().orElse("").equals("running"));
    load.awaitRequests(50);
    assertThat(load.failures()).as("while a broken image is deployed").isEmpty();
    assertThat(pids(rest)).isEqualTo(before);
  }

  /** All processes gone, all containers gone, as after a loss of power. */
  private void reboot() throws Exception {
    try (Agent agent = Agent.open(node.configured().config(), Map.of(), Node.log())) {
      agent.deployments().close();
      for (Container container : agent.runtime().list()) {
        container.remove(true);
      }
    }
  }
}
