package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Rounds.Contestant;
import dev.zlayer.bench.engine.Engine;
import java.util.ArrayList;
import java.util.List;

/** A further process in a running container; the floor is the OCI runtime's own exec. */
public final class ExecWork implements Work {
  private static final String NAME = "sleeper";

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Arena.Engines engines = arena.engines();
    var started = new ArrayList<Engine>();
    try {
      var contestants = new ArrayList<Contestant>();
      for (Engine engine : engines.plain()) {
        contestants.add(
            new Contestant(
                engine.name(),
                () -> start(engine, started),
                () -> Rounds.millis(() -> engine.execTrue(NAME)),
                Rounds.Step.NOTHING));
      }
      var options = arena.options();
      var rows = Rounds.run(contestants, options.warm(options.size(10, 2)), options.size(50, 5));
      return List.of(
          new Report.Table("exec true (floor: no monitor)", "ms", engines.floor().name(), rows));
    } finally {
      for (Engine engine : started) {
        engine.remove(NAME);
      }
    }
  }

  /** Before its first turn only. */
  private static void start(Engine engine, List<Engine> started) throws Exception {
    if (!started.contains(engine)) {
      engine.startSleeper(NAME);
      started.add(engine);
    }
  }
}
