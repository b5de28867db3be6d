package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Rounds.Contestant;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.task.TaskScope;
import java.util.ArrayList;
import java.util.List;

/** Many short containers, eight at a time. */
public final class JobsWork implements Work {
  private static final int AT_A_TIME = 8;

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Arena.Engines engines = arena.engines();
    int jobs = arena.options().size(200, 24);
    var contestants = new ArrayList<Contestant>();
    for (Engine engine : engines.all()) {
      contestants.add(
          new Contestant(
              engine.name(),
              engine::runTrue,
              () -> jobs / (Rounds.millis(() -> runAll(engine, jobs)) / 1000),
              Rounds.Step.NOTHING));
    }
    var rows = Rounds.run(contestants, 0, arena.options().size(3, 1));
    return List.of(
        new Report.Table(
            "%d short containers, %d at a time".formatted(jobs, AT_A_TIME),
            "per second",
            engines.floor().name(),
            rows));
  }

  private static void runAll(Engine engine, int jobs) throws InterruptedException {
    try (var scope = new TaskScope("jobs", AT_A_TIME)) {
      for (int job = 0; job < jobs; job++) {
        scope.fork(
            () -> {
              engine.runTrue();
              return true;
            });
      }
      scope.join();
    }
  }
}
