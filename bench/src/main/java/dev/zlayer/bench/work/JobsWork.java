package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Rounds.Contestant;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.task.TaskScope;
import java.util.ArrayList;
import java.util.List;

/** Many short containers: one after the other, eight at a time, thirty-two at a time. */
public final class JobsWork implements Work {
  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    var options = arena.options();
    var tables = new ArrayList<Report.Table>();
    tables.add(table(arena, 1, options.size(40, 4), 0, options.size(2, 1)));
    // daemons live for months, so what their first hundred containers cost is not what counts
    tables.add(table(arena, 8, options.size(200, 16), options.warm(1), options.size(3, 1)));
    tables.add(table(arena, 32, options.size(200, 32), 0, options.size(2, 1)));
    return tables;
  }

  private static Report.Table table(Arena arena, int atATime, int jobs, int warm, int rounds)
      throws Exception {
    Arena.Engines engines = arena.engines();
    var contestants = new ArrayList<Contestant>();
    for (Engine engine : engines.all()) {
      contestants.add(perSecond(engine.name(), engine::runTrue, jobs, atATime));
    }
    return new Report.Table(
        "%d short containers, %d at a time".formatted(jobs, atATime),
        "per second",
        engines.floor().name(),
        Rounds.run(contestants, warm, rounds));
  }

  static Contestant perSecond(String name, Rounds.Step one, int jobs, int atATime) {
    return new Contestant(
        name,
        one,
        () -> jobs / (Rounds.millis(() -> runAll(one, jobs, atATime)) / 1000),
        Rounds.Step.NOTHING);
  }

  private static void runAll(Rounds.Step one, int jobs, int atATime) throws InterruptedException {
    try (var scope = new TaskScope("jobs", atATime)) {
      for (int job = 0; job < jobs; job++) {
        scope.fork(
            () -> {
              one.run();
              return true;
            });
      }
      scope.join();
    }
  }
}
