package dev.zlayer.bench.work;

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

/** The daemon itself: its start, its memory, and whom it knows again after a crash. */
public final class DaemonWork implements Work {
  private static final int CROWD = 100;

  /** Nobody is idle who was asked just now. */
  private static final Duration LULL = Duration.ofSeconds(6);

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Arena.Engines engines = arena.engines();
    Optional<ZlayerDaemon> found = arena.daemon();
    if (found.isEmpty()) {
      return List.of();
    }
    ZlayerDaemon daemon = found.get();
    int rounds = arena.options().size(10, 2);
    int crowd = arena.options().size(CROWD, 10);
    var tables = new ArrayList<Report.Table>();
    var memory = new ArrayList<Report.Row>();
    Pauses.REAL.pause(LULL);
    for (Engine engine : engines.plain()) {
      memory.add(Report.Row.of(engine.name(), engine.memory(), ""));
    }
    tables.add(new Report.Table("memory without containers", "MiB", "docker", memory));
    tables.add(
        new Report.Table(
            "kill -9 of the daemon until the next one answers",
            "ms",
            "without containers",
            List.of(
                crashes("without containers", daemon, rounds),
                crowded(rest(engines), daemon, crowd, rounds))));
    return tables;
  }

  private static Engine rest(Arena.Engines engines) {
    return engines.plain().stream().filter(RestEngine.class::isInstance).findFirst().orElseThrow();
  }

  private static Report.Row crowded(Engine engine, ZlayerDaemon daemon, int crowd, int rounds)
      throws Exception {
    var names = new ArrayList<String>();
    try {
      for (int number = 0; number < crowd; number++) {
        names.add("a" + number);
        engine.startSleeper("a" + number);
      }
      Report.Row row = crashes("with %d containers".formatted(crowd), daemon, rounds);
      if (engine.list() != crowd) {
        throw new IllegalStateException("%d of %d known".formatted(engine.list(), crowd));
      }
      return row;
    } finally {
      for (String name : names) {
        engine.remove(name);
      }
    }
  }

  private static Report.Row crashes(String name, ZlayerDaemon daemon, int rounds) throws Exception {
    var values = new ArrayList<Double>();
    for (int round = 0; round < rounds; round++) {
      values.add(Rounds.millis(daemon::crash));
    }
    return Report.Row.of(name, new Samples(values));
  }
}
