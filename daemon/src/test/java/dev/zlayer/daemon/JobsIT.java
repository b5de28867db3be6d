package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Real jobs through the REST API. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class JobsIT {
  private static final int MANY = 500;
  private static final int WARM = 200;

  /** What may stay of an ended execution; a container or its output that stays takes more. */
  private static final long RECORD = 8 << 10;

  private static Node node;
  private static Daemon daemon;
  private static Rest rest;

  @BeforeAll
  static void open() throws Exception {
    node = new Node().with("job_concurrency", "8");
    daemon = node.daemon();
    rest = node.rest();
    Node.loadImage(rest);
    String file =
        """
        version: v1
        deployment: jobs
        services:
          code:
            rtype: job
            image: {name: "%1$s", pull_policy: never}
            network_mode: none
            command: [sh, -c, 'echo code $0; exit $0', '0']
            job: {concurrency: 8, queue: 1000}
          files:
            rtype: job
            image: {name: "%1$s", pull_policy: never}
            command: [sh, -c, "mkdir -p /out; echo kept > /out/a.txt; ls /seen"]
            storage: [{type: named, name: shared, target: /seen}]
            job: {artifacts: [/out]}
            init:
              steps:
                - {id: there, uses: init.wait_tcp, with: {host: 127.0.0.1, port: %2$d}, timeout: 20s}
                - {id: made, uses: init.run, with: {command: "touch /seen/by-init"}}
        """;
    port = FreePorts.take();
    Rest.Reply reply =
        rest.put(
            "/deployments/jobs", file.formatted(Node.IMAGE, port).getBytes(StandardCharsets.UTF_8));
    assertThat(reply.status()).as(reply.text()).isIn(200, 202);
  }

  private static int port;

  @AfterAll
  static void close() throws Exception {
    if (rest != null) {
      rest.close();
    }
    if (daemon != null) {
      daemon.close();
    }
    if (node != null) {
      node.close();
    }
  }

  private static String begin(String job, String body) throws InterruptedException {
    return rest.post("/jobs/jobs/" + job + "/executions", body)
        .expect(201)
        .json()
        .at("id")
        .string()
        .orElseThrow();
  }

  @Test
  void everyOneOfManyJobsEndsWithItsOwnCode() throws Exception {
    RandomGenerator random = RandomGenerator.getDefault();
    int[] codes = random.ints(MANY, 0, 256).toArray();
    long began = System.nanoTime();
    checkAll(Arrays.copyOf(codes, WARM));
    long warm = liveHeap();
    checkAll(Arrays.copyOfRange(codes, WARM, MANY));
    long grown = liveHeap() - warm;
    System.out.printf(
        "%d jobs, 8 at a time, in %d ms; %d KiB of heap for the last %d%n",
        MANY, Duration.ofNanos(System.nanoTime() - began).toMillis(), grown >> 10, MANY - WARM);
    assertThat(grown)
        .as("bytes of heap for the records of %d executions", MANY - WARM)
        .isLessThan((MANY - WARM) * RECORD);

    Awaitility.await()
        .untilAsserted(() -> assertThat(rest.get("/containers?all=true").json().items()).isEmpty());
    for (String place : List.of("containers", "snapshots")) {
      // a removed container leaves the list before its directory is deleted
      Awaitility.await().untilAsserted(() -> assertThat(directories(place)).as(place).isEmpty());
    }
    assertThat(rest.get("/queue").json().items()).isEmpty();
    String metrics = rest.get("/metrics").text();
    assertThat(metrics).contains("zlayer_jobs_total{result=\"failed\"}");
    assertThat(metrics).contains("zlayer_job_seconds_count");
  }

  private static List<Path> directories(String place) throws IOException {
    try (Stream<Path> left = Files.list(node.directory.resolve(place))) {
      return left.filter(path -> !path.getFileName().toString().startsWith("."))
          .filter(Files::isDirectory)
          .toList();
    }
  }

  private static void checkAll(int[] codes) throws InterruptedException {
    try (var scope = new TaskScope("jobs", 8)) {
      for (int code : codes) {
        scope.fork(() -> check(code));
      }
      scope.join();
    }
  }

  /** Of this process, in which the daemon is: the least of some looks, as others allocate, too. */
  private static long liveHeap() {
    long least = Long.MAX_VALUE;
    for (int look = 0; look < 5; look++) {
      System.gc();
      least = Math.min(least, ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
    }
    return least;
  }

  private static boolean check(int code) throws InterruptedException {
    String id =
        begin(
            "code", "{\"args\":[\"sh\",\"-c\",\"echo code $0; exit $0\",\"%d\"]}".formatted(code));
    Json end = rest.get("/executions/" + id + "/wait").expect(200).json();
    assertThat(end.at("code").integer()).as(end.toString()).contains((long) code);
    assertThat(end.at("status").string()).contains(code == 0 ? "completed" : "failed");
    assertThat(rest.get("/executions/" + id + "/logs?format=raw").text())
        .isEqualTo("code %d\n".formatted(code));
    return true;
  }

  @Test
  void stepsComeFirstAndFilesAreKept() throws Exception {
    String id = begin("files", "{}");
    Awaitility.await()
        .until(() -> rest.get("/executions/" + id).json().at("attempts").items().size() == 1);
    try (var _ = new ServerSocket(port)) { // now the first step finds somebody
      Json end = rest.get("/executions/" + id + "/wait?timeout=30s").expect(200).json();
      assertThat(end.at("status").string()).as(end.toString()).contains("completed");
      List<Json> steps = end.at("attempts").items().getFirst().at("steps").items();
      assertThat(steps.stream().map(step -> step.at("result").string().orElse("")))
          .allMatch("succeeded"::equals);
    }
    assertThat(rest.get("/executions/" + id + "/logs?format=raw").text()).isEqualTo("by-init\n");
    assertThat(rest.get("/executions/" + id + "/artifacts").json().items()).hasSize(1);
    byte[] tar = rest.bytes("/executions/" + id + "/artifacts/out");
    assertThat(new String(tar, StandardCharsets.ISO_8859_1)).contains("a.txt").contains("kept\n");
    assertThat(rest.get("/executions/" + id + "/artifacts/none").status()).isEqualTo(404);
  }

  @Test
  void aJobIsEndedByHand() throws Exception {
    String id = begin("code", "{\"args\":[\"sleep\",\"1000\"]}");
    Awaitility.await()
        .until(
            () ->
                rest.get("/executions/" + id)
                    .json()
                    .at("status")
                    .string()
                    .orElse("")
                    .equals("running"));
    rest.post("/executions/" + id + "/cancel").expect(200);
    assertThat(rest.get("/executions/" + id + "/wait?timeout=60s").json().at("status").string())
        .contains("cancelled");
    rest.post("/executions/" + id + "/cancel").expect(200);
  }
}
