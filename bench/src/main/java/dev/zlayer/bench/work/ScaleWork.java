package dev.zlayer.bench.work;

import dev.zlayer.bench.Census;
import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Samples;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Whether the agent bears many: containers, replicas of one service and their health checks,
 * services of one file, and the state of years. Each part has a daemon of its own; a size of 0
 * leaves its part out.
 */
public final class ScaleWork implements Work {
  static final int AT_A_TIME = 8;
  private static final double IDLE_PERCENT = 1;
  private static final double TIMES_BARE = 2;
  private static final int CHECK_SECONDS = 10;
  private static final double CHECKS_PERCENT = 50;

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    if (!Files.isExecutable(arena.program())) {
      return List.of();
    }
    Options options = arena.options();
    var tables = new ArrayList<Report.Table>();
    int containers = options.size("containers", 2_000, 200);
    if (containers > 0) {
      tables.addAll(new ContainerScale(arena).measure(containers));
    }
    int replicas = options.size("replicas", 1_000, 100);
    if (replicas > 0) {
      tables.add(replicas(arena, replicas));
    }
    int checked = options.size("checked", 1_000, 100);
    if (checked > 0) {
      tables.add(checks(arena, checked));
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

  private static Report.Table replicas(Arena arena, int replicas) throws Exception {
    Options options = arena.options();
    try (var daemon = arena.freshDaemon("idle", Map.of())) {
      Path file = file(arena, "replicas", 1, replicas, "");
      double up = Rounds.millis(() -> daemon.up(file));
      double percent = Idle.percent(options, daemon);
      String name = "one service of %d replicas".formatted(replicas);
      String note = "up in %.1f s, heap %.0f MiB".formatted(up / 1000, daemon.heap(true));
      daemon.down("replicas");
      return new Report.Table(
          "CPU of the idle daemon beside replicas",
          "% of a core",
          "",
          List.of(bounded(options, IDLE_PERCENT, name, percent, note)));
    }
  }

  /** The bar is for the whole; a few containers in a second are noise. */
  private static Report.Row bounded(
      Options options, double limit, String name, double percent, String note) {
    return options.effort() == Options.Effort.SMOKE
        ? Report.Row.of(name, percent, note)
        : Report.Row.atMost(limit, name, percent, note);
  }

  /**
   * Replicas of one service, each asked every ten seconds by a command inside it, which leaves a
   * byte behind: what is not checked in time is seen.
   */
  private static Report.Table checks(Arena arena, int replicas) throws Exception {
    Options options = arena.options();
    Path marks = Files.createDirectories(arena.directory("marks"));
    Path mark = Files.createFile(marks.resolve("checks"));
    String health =
        """
            storage: [{type: bind, source: "%s", target: /mark}]
            health:
              check: {type: command, command: [/bin/sh, -c, "echo >>/mark/checks"]}
              interval: %ds
              timeout: 60s
        """
            .formatted(marks, CHECK_SECONDS);
    try (var daemon = arena.freshDaemon("checks", Map.of())) {
      Path file = file(arena, "checks", 1, replicas, health);
      double up = Rounds.millis(() -> daemon.up(file));
      Idle.settle(options);
      double own = daemon.cpuSeconds();
      long before = Files.size(mark);
      long begin = System.nanoTime();
      double all = Idle.percent(options, Census::cpuSeconds);
      double seconds = (System.nanoTime() - begin) / 1e9;
      double ofDaemon = 100 * (daemon.cpuSeconds() - own) / seconds;
      double rate = (Files.size(mark) - before) / seconds;
      daemon.down("checks");
      String wanted = "%.1f checks/s of %.1f".formatted(rate, (double) replicas / CHECK_SECONDS);
      return new Report.Table(
          "CPU of exec health checks, %d replicas, every %d s".formatted(replicas, CHECK_SECONDS),
          "% of a core",
          "",
          List.of(
              bounded(
                  options,
                  CHECKS_PERCENT,
                  "all processes",
                  all,
                  "%s, %.1f ms each; up in %.1f s".formatted(wanted, 10 * all / rate, up / 1000)),
              Report.Row.of("the daemon alone", ofDaemon, "")));
    }
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
      Path file = file(arena, "services", services, 1, "");
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
    all(0, count, step);
  }

  /** Those from one number to before another. */
  static void all(int from, int until, Step step) throws InterruptedException {
    try (var scope = new TaskScope("sleepers", AT_A_TIME)) {
      for (int number = from; number < until; number++) {
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

  /** {@code more}: further keys of each service, indented as those here. */
  private static Path file(Arena arena, String name, int services, int replicas, String more)
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
                                replicas)
                        + more)
            .collect(Collectors.joining());
    return Files.writeString(
        arena.directory(name + ".zlayer.yml"),
        "version: v1\ndeployment: %s\nservices:\n%s".formatted(name, all));
  }
}
