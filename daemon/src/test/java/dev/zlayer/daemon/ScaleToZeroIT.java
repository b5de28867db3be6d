package dev.zlayer.daemon;

import static dev.zlayer.daemon.IngressNode.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Services that have as many replicas as requests need, and none while nobody asks for them, with a
 * real HAProxy and containers.
 */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.HAPROXY})
class ScaleToZeroIT {
  /** It does not heed SIGTERM: a stop takes all its time. */
  private static final String SERVICE =
      """
      image: IMAGE
      command: [httpd, -f, -p, "8080", -h, /etc]
      health: {check: {type: tcp, port: 8080}, interval: 200ms, timeout: 5s}
      update: {min_healthy_time: 0s}
      """;

  private static IngressNode node;

  @BeforeAll
  static void open() throws Exception {
    node = new IngressNode();
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  private static void up(String deployment, String idle, String grace) throws Exception {
    node.up(
        deployment,
        """
        web:
        %s
          stop_grace_period: %s
          scale: {mode: adaptive, min: 0, max: 2, idle: %s}
          endpoints: [{name: http, protocol: http, port: 8080, host: %s.test, hold: 50s}]
        """
            .formatted(SERVICE.indent(2), grace, idle, deployment));
    await(
        "it has run",
        () ->
            List.of("running", "idle")
                .contains(node.service(deployment, "web").at("state").string().orElse("")));
  }

  private static boolean idle(String deployment) throws InterruptedException {
    Json service = node.service(deployment, "web");
    return service.at("state").string().orElse("").equals("idle")
        && service.at("replicas").items().isEmpty();
  }

  private static int request(String deployment) throws Exception {
    return IngressNode.status(node.get(deployment + ".test", "/passwd"));
  }

  @Test
  void theFirstRequestWaitsForAReplicaAlsoWhileNoAgentRuns() throws Exception {
    up("sleepy", "1s", "0s");
    assertThat(request("sleepy")).isEqualTo(200);
    await("no replica", () -> idle("sleepy"));
    assertThat(node.service("sleepy", "web").at("wanted").integer()).contains(0L);
    assertThat(node.rest().get("/deployments/sleepy").expect(200).json().at("state").string())
        .contains("running");

    assertThat(request("sleepy")).isEqualTo(200);

    await("no replica again", () -> idle("sleepy"));
    node.kill();
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Integer> waiting = pool.submit(() -> request("sleepy"));
      node.start();
      assertThat(waiting.get(60, TimeUnit.SECONDS)).isEqualTo(200);
    }
    node.down("sleepy");
  }

  @Test
  void aRequestDoesNotWaitForTheEndOfTheLastReplica() throws Exception {
    up("slow", "1s", "60s");
    await(
        "it stops",
        () -> node.service("slow", "web").at("state").string().orElse("").equals("idle"));

    assertThat(request("slow")).isEqualTo(200); // and its removal is not waited for
  }

  @Test
  void noRequestIsLostWhenReplicasComeAndLeaveAllTheTime() throws Exception {
    up("busy", "200ms", "0s");
    await("no replica", () -> idle("busy")); // so that there is one that was asked for
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var clients = new ArrayList<Future<Integer>>();
      for (int client = 0; client < 2; client++) {
        var random = new Random(client);
        clients.add(
            pool.submit(
                () -> {
                  int served = 0;
                  for (int i = 0; i < 4; i++) {
                    assertThat(request("busy")).isEqualTo(200);
                    served++;
                    TimeUnit.MILLISECONDS.sleep(200 + random.nextInt(800));
                  }
                  return served;
                }));
      }
      for (Future<Integer> client : clients) {
        assertThat(client.get(120, TimeUnit.SECONDS)).isEqualTo(4);
      }
    }
    List<String> events =
        node.rest().get("/events?follow=false").expect(200).text().lines().toList();
    assertThat(events.stream().filter(line -> line.contains("service.requested")).count())
        .isPositive();
    node.down("busy");
  }

  /** By hand, so that it happens in the middle of requests each time. */
  @Test
  void noRequestIsLostWhenTheLastReplicaStopsInTheMiddleOfIt() throws Exception {
    node.up(
        "sudden",
        """
        web:
        %s
          scale: {mode: adaptive, min: 0, max: 2, idle: 1h}
          endpoints: [{name: http, protocol: http, port: 8080, host: sudden.test, hold: 50s}]
        """
            .formatted(
                IngressNode.echo("sudden")
                    .replace("printf 'HTTP", "sleep 0.3; printf 'HTTP")
                    .indent(2)));
    node.running("sudden", "web");
    var ending = new AtomicBoolean();
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      var clients = new ArrayList<Future<List<Integer>>>();
      for (int client = 0; client < 3; client++) {
        clients.add(
            pool.submit(
                () -> {
                  var statuses = new ArrayList<Integer>();
                  while (!ending.get()) {
                    statuses.add(request("sudden"));
                  }
                  return statuses;
                }));
      }
      try {
        for (int i = 0; i < 6; i++) {
          node.running("sudden", "web");
          node.scale("sudden", "web", 0);
        }
      } finally {
        ending.set(true);
      }
      for (Future<List<Integer>> client : clients) {
        assertThat(client.get(120, TimeUnit.SECONDS)).isNotEmpty().containsOnly(200);
      }
    }
    node.down("sudden");
  }

  /** The ingress counts them; a reading is taken every ten seconds. */
  @Test
  void moreRequestsThanTheTargetAddAReplica() throws Exception {
    node.up(
        "popular",
        """
        web:
        %s
          stop_grace_period: 0s
          scale: {mode: adaptive, min: 1, max: 2, cooldown: 0s, targets: {rps: 5}}
          endpoints: [{name: http, protocol: http, port: 8080, host: popular.test}]
        """
            .formatted(SERVICE.indent(2)));
    node.running("popular", "web");
    assertThat(replicas("popular")).isEqualTo(1);
    // two readings and a start
    Awaitility.await("two replicas")
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> {
              for (int i = 0; i < 20; i++) {
                assertThat(request("popular")).isEqualTo(200);
              }
              return replicas("popular") == 2;
            });
    node.down("popular");
  }

  private static int replicas(String deployment) throws InterruptedException {
    return node.service(deployment, "web").at("replicas").items().size();
  }
}
