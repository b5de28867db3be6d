package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Callers that send a request twice, or that change what somebody else has changed meanwhile. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class RepeatedRequestsIT {
  private static final String FILE =
      """
      version: v1
      deployment: shop
      services:
        report:
          rtype: job
          image: {name: %s}
          command: [sleep, "%d"]
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

  private static Json create(Rest rest, String key) throws InterruptedException {
    return rest.send(
            HttpRequest.of("POST", "/api/v1/containers")
                .with("Idempotency-Key", key)
                .withJson(
                    "{\"image\":\"%s\",\"pull\":\"never\",\"start\":false,\"command\":[\"true\"]}"
                        .formatted(Node.IMAGE)))
        .expect(201)
        .json();
  }

  private static Rest.Reply up(Rest rest, int seconds, String header, String value)
      throws InterruptedException {
    return rest.send(
        HttpRequest.of("PUT", "/api/v1/deployments/shop")
            .with(header, value)
            .withBody(
                new HttpRequest.Body.Bytes(
                    FILE.formatted(Node.IMAGE, seconds).getBytes(StandardCharsets.UTF_8))));
  }

  @Test
  void aRequestWithAKeyIsDoneOnceAlsoAcrossARestart() throws Exception {
    Json first;
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      first = create(rest, "one");
      assertThat(create(rest, "one")).isEqualTo(first);
      assertThat(create(rest, "two")).isNotEqualTo(first);
    }
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      assertThat(create(rest, "one")).isEqualTo(first);
      Json all = rest.get("/containers?all=true").expect(200).json();
      assertThat(all.items()).hasSize(2);
      Rest.Reply second = rest.get("/containers?all=true&limit=1&offset=1").expect(200);
      assertThat(second.json().items()).containsExactly(all.items().get(1));
      assertThat(second.headers().first("X-Total-Count")).contains("2");
      assertThat(rest.get("/containers?all=true&offset=5").expect(200).json().items()).isEmpty();
      rest.get("/containers?limit=-1").expect(400);
      up(rest, 0, "If-None-Match", "*").expect(202);
      var run =
          HttpRequest.of("POST", "/api/v1/jobs/shop/report/executions")
              .with("Idempotency-Key", "one")
              .withJson("{}");
      Json begun = rest.send(run).expect(201).json();
      assertThat(rest.send(run).expect(201).json()).isEqualTo(begun);
      assertThat(rest.get("/executions").expect(200).json().items()).hasSize(1);
    }
  }

  /**
   * The daemon is killed as soon as there is a record of the container, which is before it has
   * started and thus before the request is answered.
   */
  @Test
  void aContainerIsMadeOnceAlsoWhenTheDaemonIsKilledBeforeItAnswers() throws Exception {
    String body =
        "{\"image\":\"%s\",\"pull\":\"never\",\"network_mode\":\"none\",\"command\":[\"sleep\",\"1000\"]}"
            .formatted(Node.IMAGE);
    Path containers = node.configured().config().directories().containers();
    for (int round = 1; round <= 2; round++) {
      String key = "once" + round;
      List<Path> before = directories(containers);
      try (ChildDaemon daemon = ChildDaemon.start(node)) {
        try (Rest rest = node.rest()) {
          if (round == 1) {
            Node.loadImage(rest);
          }
        }
        Thread caller =
            Thread.ofVirtual()
                .start(
                    () -> {
                      try (Rest rest = node.rest()) {
                        rest.send(post("/containers", key, body));
                      } catch (AgentException | InterruptedException _) {
                        // the daemon was killed
                      }
                    });
        Awaitility.await()
            .pollInterval(Duration.ofMillis(2))
            .atMost(Duration.ofSeconds(30))
            .until(() -> created(containers, before));
        daemon.kill();
        caller.join();
      }
      try (ChildDaemon _ = ChildDaemon.start(node);
          Rest rest = node.rest()) {
        Json again = rest.send(post("/containers", key, body)).expect(201).json();
        assertThat(rest.send(post("/containers", key, body)).expect(201).json()).isEqualTo(again);
        List<Json> all = rest.get("/containers?all=true").expect(200).json().items();
        assertThat(all).hasSize(round);
        assertThat(all)
            .allMatch(container -> container.at("state").string().equals(Optional.of("running")));
        String other = body.replace("1000", "1001");
        rest.send(post("/containers", key, other)).expect(409);
      }
    }
  }

  /**
   * The daemon is killed as soon as the answer is in the log of the state store, where it arrives
   * together with the execution and before anybody is answered.
   */
  @Test
  void aJobRunsOnceAlsoWhenTheDaemonIsKilledBeforeItAnswers() throws Exception {
    Path marks = Files.createDirectory(node.directory.resolve("marks"));
    String file =
        """
        version: v1
        deployment: shop
        services:
          report:
            rtype: job
            image: {name: "%s", pull_policy: never}
            network_mode: none
            storage: [{type: bind, source: %s, target: /marks}]
            command: [sh, -c, "echo begun >> /marks/$ROUND"]
        """
            .formatted(Node.IMAGE, marks);
    int cut = 0;
    int rounds = 0;
    while (cut < 2 && (rounds < 8 || (cut == 0 && rounds < 20))) {
      String key = "killed" + ++rounds;
      HttpRequest request =
          post(
              "/jobs/shop/report/executions",
              key,
              "{\"env\":{\"ROUND\":\"%d\"}}".formatted(rounds));
      var answered = new AtomicBoolean();
      try (ChildDaemon daemon = ChildDaemon.start(node)) {
        if (rounds == 1) {
          try (Rest rest = node.rest()) {
            Node.loadImage(rest);
            rest.put("/deployments/shop", file.getBytes(StandardCharsets.UTF_8)).expect(202);
          }
        }
        Thread caller = Thread.ofPlatform().start(() -> send(request, answered));
        awaitWritten(node.directory.resolve("state.db-wal"), key);
        daemon.kill();
        caller.join();
      }
      cut += answered.get() ? 0 : 1;
      try (ChildDaemon _ = ChildDaemon.start(node);
          Rest rest = node.rest()) {
        Json again = rest.send(request).expect(201).json();
        assertThat(rest.send(request).expect(201).json()).isEqualTo(again);
        assertThat(rest.get("/executions").expect(200).json().items()).hasSize(rounds);
        String id = again.at("id").string().orElseThrow();
        Json end = rest.get("/executions/" + id + "/wait?timeout=50s").expect(200).json();
        assertThat(end.at("status").string()).contains("completed");
        assertThat(Files.readAllLines(marks.resolve(Integer.toString(rounds)))).hasSize(1);
      }
    }
    assertThat(cut).as("requests without an answer in %d rounds", rounds).isPositive();
  }

  private void send(HttpRequest request, AtomicBoolean answered) {
    try (Rest rest = node.rest()) {
      answered.set(rest.send(request).status() == 201);
    } catch (AgentException | InterruptedException _) {
      // the daemon was killed
    }
  }

  /** Looks without a pause: the answer follows within a millisecond. */
  private static void awaitWritten(Path file, String text) throws IOException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!contains(file, text)) {
      assertThat(System.nanoTime()).as("%s is never written", text).isLessThan(end);
    }
  }

  private static boolean contains(Path file, String text) throws IOException {
    try {
      return Files.readString(file, StandardCharsets.ISO_8859_1).contains(text);
    } catch (NoSuchFileException _) {
      return false;
    }
  }

  private static List<Path> directories(Path containers) throws IOException {
    if (!Files.isDirectory(containers)) {
      return List.of();
    }
    try (Stream<Path> all = Files.list(containers)) {
      return all.toList();
    }
  }

  /** Whether one more container is recorded as made. */
  private static boolean created(Path containers, List<Path> before) throws IOException {
    return directories(containers).stream()
        .filter(place -> !before.contains(place))
        .anyMatch(place -> recorded(place.resolve("record.json")));
  }

  private static boolean recorded(Path record) {
    try {
      String text = Files.readString(record); // a busy machine may look when it has begun to start
      return Stream.of("CREATED", "STARTING", "RUNNING")
          .anyMatch(phase -> text.contains("\"phase\":\"%s\"".formatted(phase)));
    } catch (IOException _) {
      return false;
    }
  }

  private static HttpRequest post(String path, String key, String body) {
    return HttpRequest.of("POST", "/api/v1" + path).with("Idempotency-Key", key).withJson(body);
  }

  /** All at the same moment; returns their answers. */
  private List<Json> together(HttpRequest request) throws Exception {
    var start = new CountDownLatch(1);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var answers = new ArrayList<Future<Json>>();
      for (int i = 0; i < 8; i++) {
        answers.add(
            threads.submit(
                () -> {
                  try (Rest rest = node.rest()) {
                    start.await();
                    return rest.send(request).expect(201).json();
                  }
                }));
      }
      start.countDown();
      var all = new ArrayList<Json>();
      for (Future<Json> answer : answers) {
        all.add(answer.get(60, TimeUnit.SECONDS));
      }
      return all;
    }
  }

  @Test
  void simultaneousRequestsWithOneKeyMakeOneThing() throws Exception {
    String body =
        "{\"image\":\"%s\",\"pull\":\"never\",\"start\":false,\"command\":[\"true\"]}"
            .formatted(Node.IMAGE);
    String other = body.replace("true\"]", "false\"]");
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      up(rest, 0, "If-None-Match", "*").expect(202);
      assertThat(Set.copyOf(together(post("/containers", "one", body)))).hasSize(1);
      assertThat(Set.copyOf(together(post("/jobs/shop/report/executions", "one", "{}"))))
          .hasSize(1);
      assertThat(rest.get("/containers?all=true&deployment=standalone").json().items()).hasSize(1);
      assertThat(rest.get("/executions").expect(200).json().items()).hasSize(1);
      refused(rest, other);
    }
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      refused(rest, other);
      rest.send(post("/containers", "one", body)).expect(201);
    }
  }

  private static void refused(Rest rest, String body) throws InterruptedException {
    assertThat(rest.send(post("/containers", "one", body)).expect(409).json().at("detail").string())
        .contains("Idempotency-Key 'one' was used for another request: choose another key");
    rest.send(post("/jobs/shop/report/executions", "one", "{\"priority\":3}")).expect(409);
  }

  @Test
  void aDeploymentThatSomebodyElseChangedIsNotOverwritten() throws Exception {
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      up(rest, 1, "If-None-Match", "*").expect(202);
      up(rest, 2, "If-None-Match", "*").expect(412);
      String tag = rest.get("/deployments/shop").headers().first("ETag").orElseThrow();
      up(rest, 2, "If-Match", tag).expect(202);

      Rest.Reply late = up(rest, 3, "If-Match", tag).expect(412);
      assertThat(late.json().at("detail").string())
          .contains("deployment 'shop' has revision 2, not 1: read it again before changing it");
      up(rest, 3, "If-Match", "yesterday").expect(400);
      assertThat(rest.get("/deployments/shop/spec").expect(200).text()).contains("\"2\"");
    }
  }
}
