package dev.zlayer.bench.work;

import dev.zlayer.bench.Hello;
import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Rounds.Contestant;
import dev.zlayer.bench.engine.DockerEngine;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.bench.engine.PodmanEngine;
import dev.zlayer.bench.engine.RestEngine;
import dev.zlayer.bench.engine.RestJobs;
import dev.zlayer.bench.engine.Tool;
import dev.zlayer.bench.engine.ZlayerDaemon;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How long a person waits for a command, beside Docker's command line and beside the least that a
 * program in Java takes. Ratios of the bars are between the smallest values: what a busy machine
 * adds says nothing about a program.
 */
public final class CliWork implements Work {
  private static final String FLOOR = "java prints a line, AOT cache";
  private static final String SLEEPER = "cli";

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Optional<ZlayerDaemon> found = arena.daemon();
    if (found.isEmpty()) {
      return List.of();
    }
    List<Engine> engines = arena.engines().plain();
    ZlayerDaemon daemon = found.get();
    Optional<DockerEngine> docker = the(DockerEngine.class, engines);
    Optional<PodmanEngine> podman = the(PodmanEngine.class, engines);
    RestEngine zlayer = the(RestEngine.class, engines).orElseThrow();
    var tables = new ArrayList<Report.Table>();
    tables.add(starts(arena, daemon, docker, podman));
    var running = new ArrayList<Engine>(List.of(zlayer));
    docker.ifPresent(running::add);
    podman.ifPresent(running::add);
    try {
      for (Engine engine : running) {
        engine.startSleeper(SLEEPER);
      }
      tables.addAll(containers(arena, zlayer, docker, podman));
      tables.add(outputs(arena, daemon, docker));
    } finally {
      for (Engine engine : running) {
        engine.remove(SLEEPER);
      }
    }
    return tables;
  }

  private static Report.Table starts(
      Arena arena,
      ZlayerDaemon daemon,
      Optional<DockerEngine> docker,
      Optional<PodmanEngine> podman)
      throws Exception {
    List<String> java = java(arena);
    var contestants = new ArrayList<Contestant>();
    contestants.add(Contestant.timed(FLOOR, () -> Tool.run(java)));
    contestants.add(Contestant.timed("zlayer version", () -> daemon.run("version")));
    contestants.add(Contestant.timed("zlayer ps", () -> daemon.run("ps")));
    docker.ifPresent(
        peer -> {
          contestants.add(Contestant.timed("docker --version", () -> peer.run("--version")));
          contestants.add(Contestant.timed("docker ps", () -> peer.run("ps")));
        });
    podman.ifPresent(peer -> contestants.add(Contestant.timed("podman ps", peer::list)));
    var rows = new ArrayList<>(rounds(arena, contestants));
    if (whole(arena)) {
      rows.add(bar(1.6, "version : java", rows.get(1), rows.get(0)));
      rows.add(bar(2.5, "ps : java", rows.get(2), rows.get(0)));
      rows.add(Report.Row.atMost(45, "smallest of version", smallest(rows.get(1)), ""));
      rows.add(Report.Row.atMost(70, "smallest of ps", smallest(rows.get(2)), ""));
    }
    return new Report.Table("start of the command line", "ms", FLOOR, rows);
  }

  private static List<Report.Table> containers(
      Arena arena, RestEngine zlayer, Optional<DockerEngine> docker, Optional<PodmanEngine> podman)
      throws Exception {
    var run = new ArrayList<Contestant>();
    var exec = new ArrayList<Contestant>();
    run.add(Contestant.timed("zlayer run --rm true", zlayer::runByCommand));
    exec.add(Contestant.timed("zlayer exec true", () -> zlayer.execByCommand(SLEEPER)));
    docker.ifPresent(
        peer -> {
          run.add(Contestant.timed("docker run --rm true", peer::runByCommand));
          exec.add(
              Contestant.timed("docker exec true", () -> peer.run("exec", SLEEPER, "/bin/true")));
        });
    podman.ifPresent(
        peer -> {
          run.add(Contestant.timed("podman run --rm true", peer::runTrue));
          exec.add(Contestant.timed("podman exec true", () -> peer.execTrue(SLEEPER)));
        });
    return List.of(
        table(arena, "run by the command line", run, docker.isPresent(), 0.6),
        table(arena, "exec by the command line", exec, docker.isPresent(), 1.0));
  }

  /** What prints what a container printed; without a bar. */
  private static Report.Table outputs(
      Arena arena, ZlayerDaemon daemon, Optional<DockerEngine> docker) throws Exception {
    var jobs = new RestJobs(daemon, arena.gallery().busybox(), arena.options().controlGroup(), 1);
    var contestants = new ArrayList<Contestant>();
    contestants.add(Contestant.timed("zlayer logs", () -> daemon.run("logs", SLEEPER)));
    contestants.add(Contestant.timed("zlayer job run --wait", jobs::runByCommand));
    docker.ifPresent(
        peer -> contestants.add(Contestant.timed("docker logs", () -> peer.run("logs", SLEEPER))));
    return new Report.Table(
        "output by the command line",
        "ms",
        contestants.getFirst().name(),
        rounds(arena, contestants));
  }

  /** Docker, where it takes part, is the second. */
  private static Report.Table table(
      Arena arena, String title, List<Contestant> contestants, boolean docker, double limit)
      throws Exception {
    var rows = new ArrayList<>(rounds(arena, contestants));
    if (whole(arena) && docker) {
      rows.add(bar(limit, "zlayer : docker", rows.get(0), rows.get(1)));
    }
    return new Report.Table(title, "ms", contestants.get(docker ? 1 : 0).name(), rows);
  }

  private static List<Report.Row> rounds(Arena arena, List<Contestant> contestants)
      throws InterruptedException {
    return Rounds.run(contestants, arena.options().warm(2), arena.options().size(20, 10));
  }

  private static boolean whole(Arena arena) {
    return arena.options().effort() != Options.Effort.SMOKE;
  }

  private static Report.Row bar(double limit, String name, Report.Row row, Report.Row base) {
    double value = smallest(row);
    String note = "smallest %.0f ms : %.0f ms".formatted(value, smallest(base));
    return Report.Row.atMost(limit, name, value / smallest(base), note);
  }

  private static double smallest(Report.Row row) {
    return row.samples().values().stream().mapToDouble(Double::doubleValue).min().orElse(0);
  }

  private static <T extends Engine> Optional<T> the(Class<T> type, List<Engine> engines) {
    return engines.stream().filter(type::isInstance).map(type::cast).findFirst();
  }

  /** With a cache trained here, and with the flags of our launcher that concern the start. */
  private static List<String> java(Arena arena) throws Exception {
    Path cache = arena.home("hello").resolve("hello.aot");
    Path jar = Path.of(Hello.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    var words =
        new ArrayList<>(
            List.of(
                System.getProperty("java.home") + "/bin/java",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:-UsePerfData",
                "-cp",
                jar.toString(),
                Hello.class.getName()));
    words.add(1, "-XX:AOTCacheOutput=" + cache);
    String _ = Tool.run(words);
    words.set(1, "-XX:AOTCache=" + cache);
    return List.copyOf(words);
  }
}
