package dev.zlayer.bench.work;

import dev.zlayer.bench.Census;
import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Samples;
import dev.zlayer.bench.engine.FloorEngine;
import dev.zlayer.bench.engine.Tool;
import dev.zlayer.bench.engine.ZlayerDaemon;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;

/**
 * Jobs whose containers are created ahead: from the trigger over REST to the first thing that the
 * program does, beside the bare runtime's create and start of the same program.
 */
public final class WarmWork implements Work {
  private static final int WARM = 5;
  private static final int BURST = 20;
  private static final Duration BETWEEN = Duration.ofMillis(200);
  private static final double OF_BARE = 0.25;
  private static final double MEDIAN_MILLIS = 8;
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** The same for all; what is measured ends when the byte arrives. */
  private static final List<String> MARK = List.of("/bin/sh", "-c", "echo >/mark/begun");

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Options options = arena.options();
    Arena.Engines engines = arena.engines();
    Path directory = Files.createDirectories(options.directory().resolve("mark"));
    Path fifo = directory.resolve("begun");
    String _ = Tool.run("mkfifo", fifo.toString());
    boolean judged = options.effort() != Options.Effort.SMOKE;
    int rounds = options.size(50, 16);
    try (var marks = new Marks(fifo);
        ZlayerDaemon daemon = arena.freshDaemon("warm", Map.of())) {
      ImageRef image = arena.gallery().busybox();
      daemon.run("pull", "-q", image.canonical());
      deploy(daemon, image, directory, options.controlGroup() + "/warm");
      var floor = (FloorEngine) engines.floor();
      Samples bare = bare(floor, directory, marks, rounds);
      Samples cold = triggers(daemon, "cold", marks, rounds);
      fill(daemon);
      Samples warm = triggers(daemon, "warm", marks, options.size(500, 80));
      var tables = new ArrayList<Report.Table>();
      tables.add(latency(floor.bareName(), bare, cold, warm, judged));
      tables.add(bursts(daemon, marks, options.size(5, 1), judged));
      fill(daemon);
      tables.add(cost(daemon, options.effort() == Options.Effort.SMOKE ? 1 : 20));
      daemon.ask("DELETE", "/deployments/bench", Json.Null.INSTANCE);
      settle(daemon, 0);
      return tables;
    }
  }

  private static Report.Table latency(
      String bareName, Samples bare, Samples cold, Samples warm, boolean judged) {
    var rows =
        new ArrayList<>(
            List.of(
                Report.Row.of(bareName, bare),
                Report.Row.of("job over REST", cold),
                Report.Row.of("job over REST, warm: " + WARM, warm)));
    rows.add(Report.Row.of("99th percentile of warm", warm.p99(), ""));
    if (judged) {
      rows.add(
          Report.Row.atMost(MEDIAN_MILLIS, "median of warm", warm.median(), "in milliseconds"));
      rows.add(
          Report.Row.atMost(
              OF_BARE, "warm : bare", warm.median() / bare.median(), "ratio of the medians"));
      rows.add(
          Report.Row.atMost(
              1, "p99 of warm : bare", warm.p99() / bare.median(), "ratio to bare's median"));
    }
    return new Report.Table(
        "from the trigger to the first instruction, 5 triggers a second", "ms", bareName, rows);
  }

  private static Samples bare(FloorEngine floor, Path directory, Marks marks, int rounds)
      throws Exception {
    var values = new ArrayList<Double>();
    for (int round = 0; round < rounds; round++) {
      long began = System.nanoTime();
      String name = "bare" + round;
      long created = floor.startBare(name, MARK, directory);
      values.add(millis(created, marks.await(1)));
      floor.remove(name);
      pace(began);
    }
    return new Samples(values);
  }

  private static Samples triggers(ZlayerDaemon daemon, String job, Marks marks, int rounds)
      throws Exception {
    var values = new ArrayList<Double>();
    for (int round = 0; round < rounds; round++) {
      long began = System.nanoTime();
      String _ = trigger(daemon, job);
      values.add(millis(began, marks.await(1)));
      pace(began);
    }
    return new Samples(values);
  }

  private static void pace(long began) throws InterruptedException {
    Duration left = BETWEEN.minusNanos(System.nanoTime() - began);
    if (left.isPositive()) {
      Pauses.REAL.pause(left);
    }
  }

  private static String trigger(ZlayerDaemon daemon, String job)
      throws IOException, InterruptedException {
    return daemon.ask("POST", "/jobs/bench/%s/executions".formatted(job), Json.object().build());
  }

  /** Until the first instruction of the last of them; cold and warm take turns. */
  private static Report.Table bursts(ZlayerDaemon daemon, Marks marks, int rounds, boolean judged)
      throws Exception {
    var cold = new ArrayList<Double>();
    var warm = new ArrayList<Double>();
    for (int round = 0; round < rounds; round++) {
      fill(daemon);
      cold.add(burst(daemon, "cold", marks));
      fill(daemon);
      warm.add(burst(daemon, "warm", marks));
    }
    var rows =
        new ArrayList<>(
            List.of(
                Report.Row.of("cold", new Samples(cold)),
                Report.Row.of("warm: " + WARM, new Samples(warm))));
    if (judged) {
      double ratio = new Samples(warm).median() / new Samples(cold).median();
      rows.add(Report.Row.atMost(1, "warm : cold", ratio, "ratio of the medians"));
    }
    return new Report.Table("%d triggers at once".formatted(BURST), "ms", "cold", rows);
  }

  private static double burst(ZlayerDaemon daemon, String job, Marks marks) throws Exception {
    long began = System.nanoTime();
    try (var scope = new TaskScope("burst", BURST)) {
      for (int i = 0; i < BURST; i++) {
        scope.fork(() -> trigger(daemon, job));
      }
      scope.join();
    }
    return millis(began, marks.await(BURST));
  }

  /** What waiting containers take while nothing happens. */
  private static Report.Table cost(ZlayerDaemon daemon, int seconds) throws Exception {
    double memory =
        JsonText.parse(daemon.ask("GET", "/stats", Json.Null.INSTANCE)).items().stream()
                .mapToLong(one -> one.at("memory_bytes").integer().orElse(0L))
                .sum()
            / (double) (1 << 20);
    double monitors = daemon.monitorMemory();
    double used = waitingSeconds();
    double own = daemon.cpuSeconds();
    Pauses.REAL.pause(Duration.ofSeconds(seconds));
    String title = "what %d prepared containers take".formatted(WARM);
    return new Report.Table(
        title,
        "MiB; CPU ms per second",
        "",
        List.of(
            Report.Row.of("memory of each", memory / WARM, "its control group"),
            Report.Row.of("memory of its monitor", monitors / WARM, ""),
            Report.Row.of(
                "CPU of all", (waitingSeconds() - used) * 1000 / seconds, "with monitors"),
            Report.Row.of("CPU of the daemon", (daemon.cpuSeconds() - own) * 1000 / seconds, "")));
  }

  private static double waitingSeconds() {
    return Census.cpuSeconds(line -> line.contains("conmon") || line.contains(" init"));
  }

  private static void fill(ZlayerDaemon daemon) {
    settle(daemon, WARM);
  }

  /** Until nothing but so many containers that wait is there. */
  private static void settle(ZlayerDaemon daemon, int prepared) {
    Awaitility.await()
        .atMost(LIMIT)
        .pollInterval(Duration.ofMillis(50))
        .until(
            () -> {
              List<Json> all =
                  JsonText.parse(daemon.ask("GET", "/containers?all=true", Json.Null.INSTANCE))
                      .items();
              return all.size() == prepared
                  && all.stream()
                      .allMatch(one -> one.at("state").string().orElse("").equals("prepared"));
            });
  }

  private static void deploy(ZlayerDaemon daemon, ImageRef image, Path directory, String group)
      throws IOException, InterruptedException {
    String _ =
        daemon.ask(
            "PUT",
            "/deployments/bench",
            Json.object()
                .put("version", "v1")
                .put("deployment", "bench")
                .put(
                    "services",
                    Json.object()
                        .put("cold", job(image, directory, group, 0))
                        .put("warm", job(image, directory, group, WARM))
                        .build())
                .build());
  }

  private static Json job(ImageRef image, Path directory, String group, int warm) {
    Json mount =
        Json.object().put("type", "bind").put("source", directory).put("target", "/mark").build();
    return Json.object()
        .put("rtype", "job")
        .put("image", Json.object().put("name", image.canonical()).build())
        .put("command", Json.object().put("entrypoint", MARK).build())
        .put("network_mode", "none")
        .put("cgroup_parent", group)
        .put("storage", List.of(mount))
        .put("job", Json.object().put("concurrency", BURST).put("warm", warm).build())
        .build();
  }

  private static double millis(long from, long to) {
    return (to - from) / 1e6;
  }

  /** Learns when programs in containers begin: each writes a byte. */
  private static final class Marks implements AutoCloseable {
    private final java.io.RandomAccessFile pipe;

    Marks(Path fifo) throws IOException {
      this.pipe = new java.io.RandomAccessFile(fifo.toFile(), "rw"); // both ends, so it never ends
    }

    /** Blocks until so many have begun; the time of the last. */
    long await(int count) throws IOException {
      for (int i = 0; i < count; i++) {
        int _ = pipe.read();
      }
      return System.nanoTime();
    }

    @Override
    public void close() throws IOException {
      pipe.close();
    }
  }
}
