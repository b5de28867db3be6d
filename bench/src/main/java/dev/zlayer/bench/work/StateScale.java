package dev.zlayer.bench.work;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.bench.engine.ZlayerDaemon;
import dev.zlayer.engine.deployment.SeededState;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Whether the heap that is shipped suffices for the state of years and for many jobs that print
 * much at once, and how long the agent needs to start with that.
 */
final class StateScale {
  private static final long PRINTED = 10L << 20;
  private static final long BETWEEN_LOOKS_MILLIS = 100;
  private static final String EXECUTIONS = "/jobs/printing/print/executions";

  private final Arena arena;
  private final List<Report.Row> times = new ArrayList<>();
  private final List<Report.Row> heaps = new ArrayList<>();

  StateScale(Arena arena) {
    this.arena = arena;
  }

  List<Report.Table> measure(int deployments) throws Exception {
    Options options = arena.options();
    int revisions = options.size("revisions", 20, 8);
    int events = options.size("events", 1_000_000, 40_000);
    int jobs = options.size("jobs", 64, 16);
    Path home = arena.home("state");
    String image = arena.gallery().busybox().canonical();
    var settings = Map.of("ZLAYER_EVENTS", Integer.toString(Math.max(1_000, events)));
    try (var daemon = new ZlayerDaemon(arena.program(), home, settings)) {
      daemon.run("pull", "-q", image);
    }
    SeededState.write(home.resolve("data/state.db"), image, deployments, revisions, events);

    long begin = System.nanoTime();
    try (var daemon = new ZlayerDaemon(arena.program(), home, settings)) {
      note(daemon, "first start", (System.nanoTime() - begin) / 1e9, deployments);
      restart(daemon, "kill -9, next start", deployments);
      print(daemon, image, jobs);
      restart(daemon, "kill -9 after the jobs, next start", deployments + 1);
    }
    String what =
        "%d deployments x %d revisions, %d events, %d jobs of 10 MiB"
            .formatted(deployments, revisions, events, jobs);
    return List.of(
        new Report.Table("start with " + what, "s", "first start", times),
        new Report.Table("heap with " + what, "MiB", "first start", heaps));
  }

  private void restart(ZlayerDaemon daemon, String title, int deployments) throws Exception {
    note(daemon, title, Rounds.millis(daemon::crash) / 1000, deployments);
  }

  private void note(ZlayerDaemon daemon, String title, double seconds, int deployments)
      throws Exception {
    int known =
        JsonText.parse(daemon.ask("GET", "/deployments", Json.Null.INSTANCE)).items().size();
    if (known != deployments) {
      throw new IllegalStateException("%d of %d deployments known".formatted(known, deployments));
    }
    times.add(Report.Row.of(title, seconds, "until it answers; all deployments known"));
    heaps.add(
        Report.Row.of(
            title, daemon.heap(true), "after a collection, of %.0f".formatted(daemon.heapLimit())));
  }

  /** All at once; every byte has to be there afterwards. */
  private void print(ZlayerDaemon daemon, String image, int jobs) throws Exception {
    deploy(daemon, image, jobs);
    var ended = new AtomicBoolean();
    double seconds;
    double most;
    try (var looking = new TaskScope("heap")) {
      TaskScope.Task<Double> highest = looking.fork(() -> highest(daemon, ended));
      try {
        seconds = Rounds.millis(() -> run(daemon, jobs)) / 1000;
      } finally {
        ended.set(true);
      }
      looking.join();
      most = highest.result();
    }
    heaps.add(
        Report.Row.of(
            "most while %d jobs print".formatted(jobs),
            most,
            "with garbage; %.1f s, all output kept".formatted(seconds)));
  }

  private void deploy(ZlayerDaemon daemon, String image, int jobs)
      throws IOException, InterruptedException {
    Json job =
        Json.object()
            .put("rtype", "job")
            .put("image", Json.object().put("name", image).build())
            .put("command", Json.object().put("args", Engine.printing(PRINTED)).build())
            .put("network_mode", "none")
            .put("cgroup_parent", arena.options().controlGroup() + "/state")
            .put("job", Json.object().put("concurrency", jobs).put("max_log_size", "16Mi").build())
            .build();
    daemon.ask(
        "PUT",
        "/deployments/printing",
        Json.object()
            .put("version", "v1")
            .put("deployment", "printing")
            .put("services", Json.object().put("print", job).build())
            .build());
  }

  private static void run(ZlayerDaemon daemon, int jobs) throws InterruptedException {
    try (var scope = new TaskScope("jobs")) {
      for (int number = 0; number < jobs; number++) {
        scope.fork(
            () -> {
              String id =
                  ask(daemon, "POST", EXECUTIONS, Json.object().build())
                      .at("id")
                      .string()
                      .orElseThrow();
              Json end = ask(daemon, "GET", "/executions/" + id + "/wait", Json.Null.INSTANCE);
              long bytes = daemon.count("/executions/" + id + "/logs?format=raw");
              if (bytes != PRINTED || !end.at("status").string().orElse("").equals("completed")) {
                throw new IOException("%d bytes are kept of %s".formatted(bytes, end));
              }
              return true;
            });
      }
      scope.join();
    }
  }

  private static double highest(ZlayerDaemon daemon, AtomicBoolean ended) throws Exception {
    double most = 0;
    while (!ended.get()) {
      most = Math.max(most, daemon.heap(false));
      Thread.sleep(BETWEEN_LOOKS_MILLIS);
    }
    return most;
  }

  private static Json ask(ZlayerDaemon daemon, String method, String path, Json body)
      throws IOException, InterruptedException {
    return JsonText.parse(daemon.ask(method, path, body));
  }
}
