package dev.zlayer.bench.work;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Trend;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.bench.engine.RestEngine;
import dev.zlayer.bench.engine.RestJobs;
import dev.zlayer.bench.engine.Tool;
import dev.zlayer.bench.engine.ZlayerDaemon;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Containers, jobs and deployments that come and go for a long time: whatever the daemon holds must
 * not grow with what has gone. It is looked at while nothing is under way, so that the numbers are
 * exact; what a daemon fills only once (caches, records up to their limit) is left out of the
 * judgement as the first part of the run.
 */
public final class SoakWork implements Work {
  private static final int WORKERS = 4;
  private static final int LOOKS = 60;
  private static final double SETTLING = 1.0 / 3;

  /** The fewest that may be kept, so that the time until that many are there is short. */
  private static final String KEPT = "1000";

  private static final int KEPT_EXECUTIONS = 50;
  private static final Duration SMOKE_TIME = Duration.ofSeconds(3);
  private static final int SMOKE_LOOKS = 2;

  /** What is looked at, and what it may grow by in the judged part of a run. */
  private enum Figure {
    HEAP("heap after a collection", "MiB", 4),
    MEMORY("memory of the daemon", "MiB", 16),
    DESCRIPTORS("open descriptors", "number", 8),
    THREADS("threads", "number", 8),
    MOUNTS("mounts", "number", 4),
    GROUPS("control groups", "number", 4),
    FILES("files on disk", "number", 200),
    DISK("disk", "MiB", 16);

    private final String title;
    private final String unit;
    private final double limit;

    Figure(String title, String unit, double limit) {
      this.title = title;
      this.unit = unit;
      this.limit = limit;
    }
  }

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    if (!Files.isExecutable(arena.program())) {
      return List.of();
    }
    Options options = arena.options();
    boolean smoke = options.effort() == Options.Effort.SMOKE;
    Duration time = smoke ? SMOKE_TIME : Duration.ofMinutes(options.size("minutes", 60, 5));
    var settings = Map.of("ZLAYER_EVENTS", KEPT, "ZLAYER_AUDIT_RECORDS", KEPT);
    try (ZlayerDaemon daemon = arena.freshDaemon("soak", settings)) {
      var soak = new Soak(daemon, arena.gallery().busybox(), options.controlGroup() + "/soak");
      soak.run(time, smoke ? SMOKE_LOOKS : LOOKS);
      return soak.tables(time, !smoke);
    }
  }

  /**
   * What was seen once.
   *
   * @param values in the order of the figures
   */
  private record Look(double seconds, List<Double> values) {
    double of(Figure figure) {
      return values.get(figure.ordinal());
    }
  }

  /** One run. */
  private static final class Soak {
    private final ZlayerDaemon daemon;
    private final String group;
    private final String image;
    private final Engine engine;
    private final RestJobs jobs;
    private final List<Look> looks = new ArrayList<>();
    private final List<Trend.Point> pace = new ArrayList<>();
    private final AtomicLong lives = new AtomicLong();

    /** Workers hold it for reading while something lives, who looks holds it for writing. */
    private final ReadWriteLock underWay = new ReentrantReadWriteLock(true);

    private final AtomicBoolean over = new AtomicBoolean();

    Soak(ZlayerDaemon daemon, ImageRef image, String group)
        throws IOException, InterruptedException {
      this.daemon = daemon;
      this.group = group;
      this.image = image.canonical();
      this.engine = new RestEngine(daemon, image, group);
      this.jobs = new RestJobs(daemon, image, group, WORKERS, KEPT_EXECUTIONS);
    }

    void run(Duration time, int count) throws Exception {
      long began = System.nanoTime();
      Duration between = time.dividedBy(count);
      try (var scope = new TaskScope("soak")) {
        for (int worker = 0; worker < WORKERS; worker++) {
          String name = "soak" + worker;
          scope.fork(
              () -> {
                churn(name);
                return true;
              });
        }
        long seen = 0;
        Deadline end = Deadline.after(time); // looks take longer on a busy machine
        while (!over.get() && (!end.passed() || looks.isEmpty())) {
          Deadline next = Deadline.after(between);
          while (!next.passed() && !over.get()) {
            Pauses.REAL.pause(Duration.ofMillis(100));
          }
          double seconds = (System.nanoTime() - began) / 1e9;
          double since = looks.isEmpty() ? 0 : looks.getLast().seconds();
          pace.add(new Trend.Point(seconds, (lives.get() - seen) / (seconds - since)));
          seen = lives.get();
          looks.add(new Look(seconds, look()));
        }
        over.set(true);
        scope.join();
      }
    }

    /** Ends all workers when it fails: what a broken daemon holds says nothing. */
    private void churn(String name) throws Exception {
      try {
        for (int round = 0; !over.get(); round++) {
          underWay.readLock().lock();
          try {
            live(name, round);
            lives.incrementAndGet();
          } finally {
            underWay.readLock().unlock();
          }
        }
      } finally {
        over.set(true);
      }
    }

    private void live(String name, int round) throws Exception {
      switch (round % 4) {
        case 0 -> engine.runTrue();
        case 1 -> {
          engine.startSleeper(name);
          engine.execTrue(name);
          engine.stats(name);
          engine.inspect(name);
          engine.remove(name);
        }
        case 2 -> jobs.run();
        default -> {
          deploy(name, "first");
          deploy(name, "second");
          daemon.ask("DELETE", "/deployments/" + name + "?wait=60s", Json.Null.INSTANCE);
          daemon.ask("GET", "/events?last=10", Json.Null.INSTANCE);
        }
      }
    }

    /** A service on a network of its own; another step replaces its replica. */
    private void deploy(String name, String step) throws IOException, InterruptedException {
      Json service =
          Json.object()
              .put("image", Json.object().put("name", image).build())
              .put("command", Json.object().put("args", Engine.SLEEP).build())
              .put("env", Json.object().put("STEP", step).build())
              .put("cgroup_parent", group)
              .put("stop_signal", "KILL")
              .build();
      daemon.ask(
          "PUT",
          "/deployments/" + name + "?wait=60s",
          Json.object()
              .put("version", "v1")
              .put("deployment", name)
              .put("services", Json.object().put("web", service).build())
              .build());
    }

    private List<Double> look() throws Exception {
      underWay.writeLock().lock();
      try {
        return List.of(
            daemon.heap(true),
            daemon.ownMemory(),
            (double) daemon.descriptors(),
            (double) daemon.threads(),
            (double) mounts(),
            (double) groups(),
            used("--inodes", "-sx"),
            used("-skx") / 1024);
      } finally {
        underWay.writeLock().unlock();
      }
    }

    private long mounts() throws IOException {
      String directory = daemon.directory().toString();
      try (var lines = Files.lines(Path.of("/proc/self/mountinfo"))) {
        return lines.filter(line -> line.contains(directory)).count();
      }
    }

    private long groups() throws IOException, InterruptedException {
      return Tool.run("find", "/sys/fs/cgroup", "-type", "d", "-path", "*" + group + "/*")
          .lines()
          .count();
    }

    /** Of what stays on the disk; what is in memory is gone with the next start. */
    private double used(String... flags) throws InterruptedException {
      var words = new ArrayList<>(List.of("du"));
      words.addAll(List.of(flags));
      words.add(daemon.directory().toString());
      return Double.parseDouble(Tool.run(words).split("\\s", 2)[0]);
    }

    List<Report.Table> tables(Duration time, boolean judged) {
      var tables = new ArrayList<Report.Table>();
      Trend settled = settled(pace);
      String note = "%d in all".formatted(lives.get());
      tables.add(
          new Report.Table(
              "containers, jobs and deployments that come and go for %d s"
                  .formatted(time.toSeconds()),
              "per second",
              "",
              List.of(new Report.Row("zlayer", settled.samples(), OptionalDouble.empty(), note))));
      for (Figure figure : Figure.values()) {
        Trend trend = settled(points(figure));
        var rows =
            new ArrayList<>(List.of(Report.Row.of("zlayer, " + figure.title, trend.samples())));
        String change =
            "from %.1f to %.1f".formatted(looks.getFirst().of(figure), looks.getLast().of(figure));
        double growth = trend.growth();
        rows.add(
            judged
                ? Report.Row.atMost(figure.limit, "growth by its slope", growth, change)
                : Report.Row.of("growth by its slope", growth, change));
        tables.add(
            new Report.Table(
                "%s between %d s and the end".formatted(figure.title, from(time)),
                figure.unit,
                "",
                rows));
      }
      return tables;
    }

    private static long from(Duration time) {
      return Math.round(time.toSeconds() * SETTLING);
    }

    private List<Trend.Point> points(Figure figure) {
      return looks.stream().map(look -> new Trend.Point(look.seconds(), look.of(figure))).toList();
    }

    private static Trend settled(List<Trend.Point> points) {
      return new Trend(points).after(SETTLING);
    }
  }
}
