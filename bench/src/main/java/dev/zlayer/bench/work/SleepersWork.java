package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Samples;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Many containers that sleep, started by eight: how fast, how much memory, how long listing takes.
 * One contestant after the other, since two crowds at a time would measure each other.
 */
public final class SleepersWork implements Work {
  private static final int STARTERS = 8;
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final List<Report.Row> started = new ArrayList<>();
  private final List<Report.Row> memory = new ArrayList<>();
  private final List<Report.Row> listing = new ArrayList<>();

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Arena.Engines engines = arena.engines();
    int all = arena.options().size(1000, 50);
    int first = arena.options().size(300, 50);
    for (Engine engine : engines.plain()) {
      crowd(engine, first, all);
    }
    String floor = engines.floor().name();
    return List.of(
        new Report.Table(
            "sleeping containers started by %d within 60 s, at most %d".formatted(STARTERS, all),
            "per second",
            floor,
            started),
        new Report.Table(
            "memory of all processes outside at %d containers".formatted(first),
            "MiB",
            floor,
            memory),
        new Report.Table("list of %d containers".formatted(first), "ms", floor, listing));
  }

  private void crowd(Engine engine, int first, int all) throws Exception {
    Queue<String> names = new ConcurrentLinkedQueue<>();
    String note = "";
    try {
      double idle = engine.memory();
      double millis = Rounds.millis(() -> start(engine, names, first, LIMIT));
      memory.add(
          Report.Row.of(
              engine.name(),
              engine.memory(),
              "%.0f idle, %d containers".formatted(idle, names.size())));
      listing.add(Report.Row.of(engine.name(), list(engine)));
      Duration left = LIMIT.minusMillis((long) millis);
      if (first < all && left.isPositive()) {
        millis += Rounds.millis(() -> start(engine, names, all, left));
      }
      note = "%d in %.1f s".formatted(names.size(), millis / 1000);
      started.add(Report.Row.of(engine.name(), names.size() / (millis / 1000), note));
    } catch (RuntimeException e) {
      note = "failed after %d: %s".formatted(names.size(), e.getMessage());
      started.add(Report.Row.failed(engine.name(), note));
    } finally {
      clear(engine, names);
    }
  }

  private static Samples list(Engine engine) throws Exception {
    var values = new ArrayList<Double>();
    for (int time = 0; time < 10; time++) {
      values.add(Rounds.millis(engine::list));
    }
    return new Samples(values);
  }

  private static void start(Engine engine, Queue<String> names, int until, Duration limit)
      throws InterruptedException {
    Deadline deadline = Deadline.after(limit);
    try (var scope = new TaskScope("starters", STARTERS)) {
      for (int number = names.size(); number < until; number++) {
        String name = "s" + number;
        scope.fork(
            () -> {
              if (!deadline.passed()) {
                names.add(name);
                engine.startSleeper(name);
              }
              return true;
            });
      }
      scope.join();
    }
  }

  private static void clear(Engine engine, Queue<String> names) throws InterruptedException {
    try (var scope = new TaskScope("removal", STARTERS)) {
      for (String name : names) {
        scope.fork(
            () -> {
              engine.remove(name);
              return true;
            });
      }
      scope.join();
    }
  }
}
