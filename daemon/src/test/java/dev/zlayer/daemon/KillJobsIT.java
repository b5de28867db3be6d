package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A daemon is killed with jobs in every state; the next one tells their true end, each once. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class KillJobsIT {
  private static final long KEPT = 64L << 20;

  @TempDir Path marks;
  private Node node;

  @BeforeEach
  void open() throws Exception {
    node = new Node().with("network_pool", "0");
  }

  @AfterEach
  void close() throws Exception {
    node.close();
  }

  private static ConditionFactory soon() {
    return Awaitility.await().atMost(Duration.ofSeconds(40)).pollInterval(Duration.ofMillis(20));
  }

  @Test
  void jobsInEveryStateGoOnAcrossAKill() throws Exception {
    String running;
    String queued;
    String preparing;
    String alone;
    String stubborn;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      deploy(
          rest,
          job("running", "echo before; " + untilMarked("go") + "; echo after; exit 42", "")
              + job("alone", untilMarked("end") + "; touch /marks/ended; exit 17", "")
              + job("prepared", "echo main", step(untilMarked("go")))
              + job("stubborn", "trap '' TERM; echo here; while :; do sleep 0.1; done", ""));
      running = begin(rest, "running");
      soon().until(() -> log(rest, running).contains("before"));
      queued = begin(rest, "running");
      alone = begin(rest, "alone");
      preparing = begin(rest, "prepared");
      stubborn = begin(rest, "stubborn");
      soon().until(() -> log(rest, stubborn).contains("here"));
      soon().until(() -> Files.exists(marks.resolve("begun-alone")));
      soon().until(() -> Files.exists(marks.resolve("step")));
      rest.post("/executions/" + stubborn + "/cancel").expect(200);
      assertThat(status(rest, queued)).isEqualTo("pending");
      assertThat(status(rest, preparing)).isEqualTo("initializing");
      assertThat(status(rest, alone)).isEqualTo("running");
      assertThat(status(rest, stubborn)).isEqualTo("running");
      first.kill();
    }
    Files.createFile(marks.resolve("end"));
    soon().until(() -> Files.exists(marks.resolve("ended")));

    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Files.createFile(marks.resolve("go"));
      Json end = await(rest, running);
      assertThat(end.at("status").string()).contains("failed");
      assertThat(end.at("code").integer()).contains(42L);
      assertThat(log(rest, running)).isEqualTo("before\nafter\n");
      assertThat(await(rest, queued).at("code").integer()).contains(42L);
      assertThat(await(rest, alone).at("code").integer()).contains(17L);
      assertThat(await(rest, preparing).at("status").string()).contains("completed");
      assertThat(log(rest, preparing)).isEqualTo("main\n");
      assertThat(await(rest, stubborn).at("status").string()).contains("cancelled");
      for (String id : List.of(running, queued, alone, preparing, stubborn)) {
        assertThat(await(rest, id).at("attempts").items()).as(id).hasSize(1);
      }
      soon()
          .untilAsserted(
              () -> assertThat(rest.get("/containers?all=true").json().items()).isEmpty());
    }
    assertThat(begun("running")).as("the one that ran and the one that waited").isEqualTo(2);
    assertThat(begun("alone")).isOne();
    assertThat(begun("prepared")).isOne();
    assertThat(begun("stubborn")).isOne();
  }

  @Test
  void filesThatWereBeingKeptAreKeptWhole() throws Exception {
    String id;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      deploy(
          rest,
          job(
              "files",
              "mkdir /out; head -c %d /dev/zero > /out/big; echo made; exit 3".formatted(KEPT),
              "    job: {artifacts: [/out]}\n"));
      id = begin(rest, "files");
      soon().ignoreExceptions().until(() -> copied() > 0); // the file may just be renamed
      first.kill();
    }
    long copied = copied();
    System.out.printf("killed after %d bytes were kept%n", copied);

    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Json end = await(rest, id);
      assertThat(end.at("code").integer()).contains(3L);
      assertThat(log(rest, id)).isEqualTo("made\n");
      assertThat(begun("files")).isOne();
      List<Json> kept = rest.get("/executions/" + id + "/artifacts").expect(200).json().items();
      assertThat(kept).hasSize(1);
      long bytes = kept.getFirst().at("bytes").integer().orElse(0L);
      assertThat(bytes).isGreaterThan(KEPT);
      assertThat(copied()).as("nothing of the first try is left").isEqualTo(bytes);
    }
  }

  /** Bytes of all files that executions left, whole or not. */
  private long copied() throws IOException {
    Path artifacts = node.directory.resolve("artifacts");
    if (!Files.exists(artifacts)) {
      return 0;
    }
    try (Stream<Path> files = Files.walk(artifacts)) {
      return files.mapToLong(KillJobsIT::size).sum();
    }
  }

  private static long size(Path file) {
    return Files.isRegularFile(file) ? file.toFile().length() : 0;
  }

  private long begun(String job) throws IOException {
    return Files.readAllLines(marks.resolve("begun-" + job)).size();
  }

  private static String untilMarked(String name) {
    return "until test -e /marks/%s; do sleep 0.1; done".formatted(name);
  }

  private static String step(String script) {
    return """
        init: {steps: [{id: gate, uses: init.run, with: {command: "touch /marks/step; %s"}}]}
    """
        .formatted(script);
  }

  /** Each leaves a line when it begins. */
  private String job(String name, String script, String more) {
    return """
      %1$s:
        rtype: job
        image: {name: "%2$s", pull_policy: never}
        network_mode: none
        stop_grace_period: 2s
        storage: [{type: bind, source: %3$s, target: /marks}]
        command: [sh, -c, "echo begun >> /marks/begun-%1$s; %4$s"]
    """
            .formatted(name, Node.IMAGE, marks, script)
        + (more.isEmpty() ? "    job: {concurrency: 1}\n" : more);
  }

  private static void deploy(Rest rest, String jobs) throws InterruptedException {
    String file = "version: v1\ndeployment: across\nservices:\n" + jobs;
    Rest.Reply reply = rest.put("/deployments/across", file.getBytes(StandardCharsets.UTF_8));
    assertThat(reply.status()).as(reply.text()).isIn(200, 202);
  }

  private static String begin(Rest rest, String job) throws InterruptedException {
    return rest.post("/jobs/across/" + job + "/executions", "{}")
        .expect(201)
        .json()
        .at("id")
        .string()
        .orElseThrow();
  }

  private static String status(Rest rest, String id) throws InterruptedException {
    return rest.get("/executions/" + id).expect(200).json().at("status").string().orElse("");
  }

  private static Json await(Rest rest, String id) throws InterruptedException {
    return rest.get("/executions/" + id + "/wait?timeout=50s").expect(200).json();
  }

  private static String log(Rest rest, String id) throws InterruptedException {
    return rest.get("/executions/" + id + "/logs?format=raw").text();
  }
}
