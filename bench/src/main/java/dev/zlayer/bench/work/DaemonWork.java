package dev.zlayer.bench.work;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Samples;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.bench.engine.RestEngine;
import dev.zlayer.bench.engine.ZlayerDaemon;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The daemon itself: its start, its memory, and what it knows again after a crash. Bars are for the
 * smallest values: what a busy machine adds says nothing about a program.
 */
public final class DaemonWork implements Work {
  private static final int CROWD = 100;
  private static final double LONGEST_START = 400;
  private static final double LONGEST_CRASH = 1000;
  private static final double MOST_MEMORY = 90;

  /** Nobody is idle who was asked just now. */
  private static final Duration LULL = Duration.ofSeconds(6);

  /** Whether to judge; what is measured in the smallest size says nothing. */
  private boolean judged;

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Arena.Engines engines = arena.engines();
    Optional<ZlayerDaemon> found = arena.daemon();
    if (found.isEmpty()) {
      return List.of();
    }
    ZlayerDaemon daemon = found.get();
    judged = arena.options().effort() != Options.Effort.SMOKE;
    int rounds = arena.options().size(10, 2);
    int crowd = arena.options().size(CROWD, 10);
    var tables = new ArrayList<Report.Table>();
    tables.add(start(daemon, rounds));
    tables.add(idle(engines, daemon));
    Report.Row alone = crashes("without containers", daemon, rounds);
    tables.addAll(crowded(rest(engines), daemon, crowd, rounds, alone));
    return tables;
  }

  /** A process that was asked to end before, so that nothing is to be repaired. */
  private Report.Table start(ZlayerDaemon daemon, int rounds) throws Exception {
    var values = new ArrayList<Double>();
    for (int round = 0; round < rounds; round++) {
      daemon.stop();
      values.add(Rounds.millis(daemon::restart));
    }
    String name = "zlayer";
    var rows = new ArrayList<>(List.of(Report.Row.of(name, new Samples(values))));
    judge(rows, LONGEST_START, "smallest", smallest(rows.getFirst()), "");
    return new Report.Table("start of the daemon until it answers", "ms", name, rows);
  }

  private Report.Table idle(Arena.Engines engines, ZlayerDaemon daemon) throws Exception {
    daemon.stop();
    daemon.restart();
    Pauses.REAL.pause(LULL);
    var rows = new ArrayList<Report.Row>();
    for (Engine engine : engines.plain()) {
      rows.add(Report.Row.of(engine.name(), engine.memory(), ""));
    }
    judge(rows, MOST_MEMORY, "zlayer, REST", daemon.ownMemory(), "");
    return new Report.Table("memory without containers", "MiB", "docker", rows);
  }

  private List<Report.Table> crowded(
      Engine engine, ZlayerDaemon daemon, int crowd, int rounds, Report.Row alone)
      throws Exception {
    var names = new ArrayList<String>();
    Pauses.REAL.pause(LULL);
    double before = daemon.ownMemory();
    try {
      for (int number = 0; number < crowd; number++) {
        names.add("a" + number);
        engine.startSleeper("a" + number);
      }
      Pauses.REAL.pause(LULL);
      Report.Table memory = memory(daemon, crowd, before);
      String name = "with %d containers".formatted(crowd);
      var rows = new ArrayList<>(List.of(alone, crashes(name, daemon, rounds)));
      judge(rows, LONGEST_CRASH, "smallest " + name, smallest(rows.getLast()), "");
      if (engine.list() != crowd) {
        throw new IllegalStateException("%d of %d known".formatted(engine.list(), crowd));
      }
      return List.of(
          memory,
          new Report.Table(
              "kill -9 of the daemon until the next one answers", "ms", alone.contestant(), rows));
    } finally {
      for (String name : names) {
        engine.remove(name);
      }
    }
  }

  /** What one more container takes: what the daemon grew by, beside its monitor. */
  private Report.Table memory(ZlayerDaemon daemon, int crowd, double before) {
    double own = Math.max(0, daemon.ownMemory() - before) / crowd;
    double monitor = daemon.monitorMemory() / crowd;
    var rows =
        new ArrayList<>(
            List.of(Report.Row.of("conmon", monitor, ""), Report.Row.of("the daemon", own, "")));
    judge(rows, 1.0, "daemon : conmon", own / monitor, "for each container");
    return new Report.Table(
        "memory for each of %d containers".formatted(crowd), "MiB", "conmon", rows);
  }

  private void judge(List<Report.Row> rows, double limit, String name, double value, String note) {
    if (judged) {
      rows.add(Report.Row.atMost(limit, name, value, note));
    }
  }

  private static double smallest(Report.Row row) {
    return row.samples().values().stream().mapToDouble(Double::doubleValue).min().orElse(0);
  }

  private static Engine rest(Arena.Engines engines) {
    return engines.plain().stream().filter(RestEngine.class::isInstance).findFirst().orElseThrow();
  }

  private static Report.Row crashes(String name, ZlayerDaemon daemon, int rounds) throws Exception {
    var values = new ArrayList<Double>();
    for (int round = 0; round < rounds; round++) {
      values.add(Rounds.millis(daemon::crash));
    }
    return Report.Row.of(name, new Samples(values));
  }
}
