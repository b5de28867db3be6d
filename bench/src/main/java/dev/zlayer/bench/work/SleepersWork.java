package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Samples;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Many containers that sleep, started by eight: what one more costs as the crowd grows, how much
 * memory it takes, how long looking takes. One contestant after the other, since two crowds at a
 * time would measure each other.
 */
public final class SleepersWork implements Work {
  private static final int STARTERS = 8;
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int LOOKS = 20;
  private static final int WARM_LOOKS = 20;

  /** Title to rows, in the order of the first contestant. */
  private final Map<String, List<Report.Row>> figures = new LinkedHashMap<>();

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    figures.clear();
    Arena.Engines engines = arena.engines();
    List<Integer> sizes =
        switch (arena.options().effort()) {
          case WHOLE -> List.of(10, 100, 300, 600, 1000);
          case QUICK -> List.of(10, 40);
          case SMOKE -> List.of(2);
        };
    for (Engine engine : engines.plain()) {
      crowd(engine, sizes);
    }
    return figures.entrySet().stream()
        .map(
            entry ->
                new Report.Table(
                    entry.getKey(),
                    entry.getKey().startsWith("memory") ? "MiB" : "ms",
                    engines.floor().name(),
                    entry.getValue()))
        .toList();
  }

  private void crowd(Engine engine, List<Integer> sizes) throws Exception {
    Queue<String> names = new ConcurrentLinkedQueue<>();
    double idle = engine.memory();
    Deadline deadline = Deadline.after(LIMIT);
    double millis = 0;
    try {
      add("memory without containers", Report.Row.of(engine.name(), idle, ""));
      for (int size : sizes) {
        int before = names.size();
        double taken = Rounds.millis(() -> start(engine, names, size, deadline));
        millis += taken;
        if (names.size() < size) {
          break;
        }
        String note = "all %d in %.1f s".formatted(size, millis / 1000);
        add(
            "one more sleeping container, from %d to %d, %d starters"
                .formatted(before, size, STARTERS),
            Report.Row.of(engine.name(), taken / (size - before), note));
        look(engine, size, idle);
      }
    } catch (RuntimeException e) {
      add(
          "crowds that failed",
          Report.Row.failed(engine.name(), "after %d: %s".formatted(names.size(), e.getMessage())));
    } finally {
      clear(engine, names);
    }
  }

  private void look(Engine engine, int size, double idle) throws Exception {
    double memory = engine.memory();
    add(
        "memory of all processes outside %d containers".formatted(size),
        Report.Row.of(engine.name(), memory, "%.2f for each".formatted((memory - idle) / size)));
    add("list of %d containers".formatted(size), looks(engine, engine::list));
    add("inspect one of %d containers".formatted(size), looks(engine, () -> engine.inspect("s0")));
    add("stats of one of %d containers".formatted(size), looks(engine, () -> engine.stats("s0")));
  }

  private static Report.Row looks(Engine engine, Rounds.Step look) throws Exception {
    var values = new ArrayList<Double>();
    for (int time = -WARM_LOOKS; time < LOOKS; time++) {
      double millis = Rounds.millis(look);
      if (time >= 0) {
        values.add(millis);
      }
    }
    return Report.Row.of(engine.name(), new Samples(values));
  }

  private void add(String title, Report.Row row) {
    figures.computeIfAbsent(title, _ -> new ArrayList<>()).add(row);
  }

  private static void start(Engine engine, Queue<String> names, int until, Deadline deadline)
      throws InterruptedException {
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
