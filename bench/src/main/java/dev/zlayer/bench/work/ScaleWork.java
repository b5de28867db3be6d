package dev.zlayer.bench.work;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
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
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Whether the agent bears many: idle containers, replicas of one service, services of one file, and
 * the state of years. Each part has a daemon of its own.
 */
public final class ScaleWork implements Work {
  private static final int AT_A_TIME = 8;
  private static final double IDLE_PERCENT = 1;
  private static final double TIMES_BARE = 2;

  /** What was compiled and collected because of the start is not what idling costs. */
  private static final Duration LULL = Duration.ofSeconds(15);

  private static final Duration WINDOW = Duration.ofSeconds(40);
  private static final Duration SHORT = Duration.ofSeconds(1);

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    if (!Files.isExecutable(arena.program())) {
      return List.of();
    }
    var tables = new ArrayList<Report.Table>();
    tables.add(idle(arena));
    tables.add(services(arena));
    tables.addAll(new StateScale(arena).measure());
    return tables;
  }

  private static Report.Table idle(Arena arena) throws Exception {
    Options options = arena.options();
    int containers = options.size("containers", 1_000, 100);
    int replicas = options.size("replicas", 1_000, 100);
    var rows = new ArrayList<Report.Row>();
    try (var daemon = arena.freshDaemon("idle", Map.of())) {
      var engine =
          new RestEngine(daemon, arena.gallery().busybox(), options.controlGroup() + "/idle");
      rows.add(Report.Row.of("no containers", percent(options, daemon), ""));
      double started = Rounds.millis(() -> all(containers, engine::startSleeper));
      rows.add(
          bounded(
              options,
              "%d containers".formatted(containers),
              percent(options, daemon),
              "started in %.1f s, heap %.0f MiB".formatted(started / 1000, daemon.heap(true))));
      all(containers, engine::remove);

      Path file = file(arena, "replicas", 1, replicas);
      double up = Rounds.millis(() -> daemon.run("up", file.toString(), "--wait", "170s", "-q"));
      rows.add(
          bounded(
              options,
              "one service of %d replicas".formatted(replicas),
              percent(options, daemon),
              "up in %.1f s, heap %.0f MiB".formatted(up / 1000, daemon.heap(true))));
      daemon.run("down", "replicas", "--wait", "170s", "-q");
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
  private static Report.Table services(Arena arena) throws Exception {
    int services = arena.options().size("services", 400, 40);
    Engine bare = arena.likeFloor();
    double floor = Rounds.millis(() -> all(services, bare::startSleeper));
    all(services, bare::remove);
    double up;
    try (var daemon = arena.freshDaemon("services", Map.of())) {
      daemon.run("pull", "-q", arena.gallery().busybox().canonical());
      Path file = file(arena, "services", services, 1);
      up = Rounds.millis(() -> daemon.run("up", file.toString(), "--wait", "170s", "-q"));
      daemon.run("down", "services", "--wait", "170s", "-q");
    }
    double ratio = up / floor;
    boolean fine = ratio <= TIMES_BARE || arena.options().effort() == Options.Effort.SMOKE;
    return new Report.Table(
        "%d services in one file, until all run".formatted(services),
        "s",
        bare.name(),
        List.of(
            Report.Row.of(bare.name(), floor / 1000, "%d at a time, no agent".formatted(AT_A_TIME)),
            Report.Row.of(
                "zlayer up",
                up / 1000,
                "%s the bar of %.0f times the bare starts"
                    .formatted(fine ? "meets" : Report.MISSED, TIMES_BARE))));
  }

  /** Something to do to a sleeper. */
  private interface Step {
    void run(String name) throws Exception;
  }

  private static void all(int count, Step step) throws InterruptedException {
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
