package dev.zlayer.bench.work;

import dev.zlayer.bench.Census;
import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Samples;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.bench.engine.RestEngine;
import dev.zlayer.bench.engine.ZlayerDaemon;
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
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Whether the agent bears many: idle containers, replicas of one service, services of one file, and
 * the state of years. Each part has a daemon of its own; a size of 0 leaves its part out.
 */
public final class ScaleWork implements Work {
  private static final int AT_A_TIME = 8;
  private static final double IDLE_PERCENT = 1;
  private static final double TIMES_BARE = 2;

  /** What was compiled and collected because of the start is not what idling costs. */
  private static final Duration LULL = Duration.ofSeconds(60);

  private static final Duration WINDOW = Duration.ofSeconds(40);
  private static final Duration SHORT = Duration.ofSeconds(1);

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    if (!Files.isExecutable(arena.program())) {
      return List.of();
    }
    Options options = arena.options();
    var tables = new ArrayList<Report.Table>();
    int containers = options.size("containers", 1_000, 100);
    int replicas = options.size("replicas", 1_000, 100);
    if (containers + replicas > 0) {
      tables.add(idle(arena, containers, replicas));
    }
    int services = options.size("services", 400, 40);
    if (services > 0) {
      tables.add(services(arena, services));
    }
    int deployments = options.size("deployments", 5_000, 400);
    if (deployments > 0) {
      tables.addAll(new StateScale(arena).measure(deployments));
    }
    return tables;
  }

  private static Report.Table idle(Arena arena, int containers, int replicas) throws Exception {
    Options options = arena.options();
    var rows = new ArrayList<Report.Row>();
    try (var daemon = arena.freshDaemon("idle", Map.of())) {
      var engine =
          new RestEngine(daemon, arena.gallery().busybox(), options.controlGroup() + "/idle");
      rows.add(Report.Row.of("no containers", percent(options, daemon), ""));
      if (containers > 0) {
        double started = Rounds.millis(() -> all(containers, engine::startSleeper));
        rows.add(
            bounded(
                options,
                "%d containers".formatted(containers),
                percent(options, daemon),
                "started in %.1f s, heap %.0f MiB".formatted(started / 1000, daemon.heap(true))));
        all(containers, engine::remove);
      }
      if (replicas > 0) {
        Path file = file(arena, "replicas", 1, replicas);
        double up = Rounds.millis(() -> daemon.up(file));
        rows.add(
            bounded(
                options,
                "one service of %d replicas".formatted(replicas),
                percent(options, daemon),
                "up in %.1f s, heap %.0f MiB".formatted(up / 1000, daemon.heap(true))));
        daemon.down("replicas");
      }
    }
    return new Report.Table("CPU of the idle daemon", "% of a core", "no containers", rows);
  }

  /** The bar is for the whole; a few containers in a second are noise. */
  private static Report.Row bounded(Options options, String name, double percent, String note) {
    return options.effort() == Options.Effort.SMOKE
        ? Report.Row.of(name, percent, note)
        : Report.Row.atMost(IDLE_PERCENT, name, percent, note);
  }

  private static double percent(Options options, ZlayerDaemon daemon) throws InterruptedException {
    boolean brief = options.effort() == Options.Effort.SMOKE;
    Pauses.REAL.pause(brief ? SHORT : LULL);
    double before = daemon.cpuSeconds();
    double seconds;
    try {
      seconds = Rounds.millis(() -> Pauses.REAL.pause(brief ? SHORT : WINDOW)) / 1000;
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    return 100 * (daemon.cpuSeconds() - before) / seconds;
  }

  /** Beside the same number of sleepers, started by the bare parts with the same configuration. */
  private static Report.Table services(Arena arena, int services) throws Exception {
    Engine bare = arena.likeFloor();
    double before = Census.cpuSeconds();
    double floor = Rounds.millis(() -> all(services, bare::startSleeper));
    double floorCpu = Census.cpuSeconds() - before;
    all(services, bare::remove);
    double up;
    double cpu;
    double own;
    try (var daemon = arena.freshDaemon("services", Map.of())) {
      daemon.run("pull", "-q", arena.gallery().busybox().canonical());
      Path file = file(arena, "services", services, 1);
      before = Census.cpuSeconds();
      double ownBefore = daemon.cpuSeconds();
      up = Rounds.millis(() -> daemon.up(file));
      cpu = Census.cpuSeconds() - before;
      own = daemon.cpuSeconds() - ownBefore;
      daemon.down("services");
    }
    double ratio = up / floor;
    boolean fine = ratio <= TIMES_BARE || arena.options().effort() == Options.Effort.SMOKE;
    return new Report.Table(
        "%d services in one file, until all run".formatted(services),
        "s",
        bare.name(),
        List.of(
            new Report.Row(
                bare.name(),
                Samples.of(floor / 1000),
                OptionalDouble.of(floorCpu),
                "%d at a time, no agent".formatted(AT_A_TIME)),
            new Report.Row(
                "zlayer up",
                Samples.of(up / 1000),
                OptionalDouble.of(cpu),
                "%s the bar of %.0f times the bare starts; %.1f s of cpu in the daemon"
                    .formatted(fine ? "meets" : Report.MISSED, TIMES_BARE, own))));
  }

  /** Something to do to a sleeper. */
  interface Step {
    void run(String name) throws Exception;
  }

  static void all(int count, Step step) throws InterruptedException {
    try (var scope = new TaskScope("sleepers", AT_A_TIME)) {
      for (int number = 0; number < count; number++) {
        String name = "s" + number;
        scope.fork(
            () -> {
              step.run(name);
              return true;
            });
      }
      scope.join();
    }
  }

  private static Path file(Arena arena, String name, int services, int replicas)
      throws IOException {
    String all =
        IntStream.range(0, services)
            .mapToObj(
                number ->
                    """
                      s%d:
                        image: {name: "%s"}
                        command: {args: [/bin/sleep, "3600"]}
                        network_mode: none
                        cgroup_parent: %s/%s
                        scale: {mode: fixed, replicas: %d}
                    """
                        .formatted(
                            number,
                            arena.gallery().busybox().canonical(),
                            arena.options().controlGroup(),
                            name,
                            replicas))
            .collect(Collectors.joining());
    return Files.writeString(
        arena.directory(name + ".zlayer.yml"),
        "version: v1\ndeployment: %s\nservices:\n%s".formatted(name, all));
  }
}
