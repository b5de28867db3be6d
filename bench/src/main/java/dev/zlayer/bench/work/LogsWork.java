package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Rounds.Contestant;
import dev.zlayer.bench.Samples;
import dev.zlayer.bench.engine.Engine;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A container that prints a lot, and reading it back. */
public final class LogsWork implements Work {
  private static final String NAME = "printer";

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Arena.Engines engines = arena.engines();
    long bytes = arena.options().size(100, 10) * (1L << 20);
    Map<String, List<Double>> reads = new HashMap<>();
    var contestants = new ArrayList<Contestant>();
    for (Engine engine : engines.plain()) {
      List<Double> rates = reads.computeIfAbsent(engine.name(), _ -> new ArrayList<>());
      contestants.add(
          new Contestant(
              engine.name(),
              Rounds.Step.NOTHING,
              () -> rate(bytes, Rounds.millis(() -> engine.printLog(NAME, bytes))),
              () -> readBack(engine, bytes, rates)));
    }
    var writes = Rounds.run(contestants, 0, arena.options().size(5, 1));
    var readRows =
        writes.stream()
            .map(
                row ->
                    Report.Row.of(
                        row.contestant(),
                        new Samples(reads.getOrDefault(row.contestant(), List.of()))))
            .toList();
    String floor = engines.floor().name();
    String title = "%d MiB of log lines: ".formatted(bytes >> 20);
    return List.of(
        new Report.Table(title + "written", "MB/s", floor, writes),
        new Report.Table(title + "read back (floor: raw file)", "MB/s", floor, readRows));
  }

  private static void readBack(Engine engine, long bytes, List<Double> rates) throws Exception {
    try {
      var read = new long[1];
      double millis = Rounds.millis(() -> read[0] = engine.readLog(NAME));
      if (read[0] < bytes) {
        throw new IllegalStateException("only %d of %d bytes".formatted(read[0], bytes));
      }
      rates.add(rate(bytes, millis));
    } finally {
      engine.remove(NAME);
    }
  }

  private static double rate(long bytes, double millis) {
    return bytes / 1e6 / (millis / 1000);
  }
}
