package dev.zlayer.bench.work;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Rounds.Contestant;
import dev.zlayer.bench.engine.DockerEngine;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What clients of Docker notice when they change the socket: the same requests and the same command
 * line, on our daemon and on Docker's.
 */
public final class DockerWork implements Work {
  private static final int AT_A_TIME = 8;

  /** How long everything is watched while the processor time is counted. */
  private static final Duration WATCH = Duration.ofSeconds(10);

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    List<DockerEngine> engines = arena.dockers();
    if (engines.isEmpty()) {
      return List.of();
    }
    Options options = arena.options();
    int crowd = options.size("containers", 300, 40);
    var tables = new ArrayList<Report.Table>();
    tables.add(runs(engines, options));
    tables.add(churn(engines, options));
    try {
      for (DockerEngine engine : engines) {
        each(crowd, number -> engine.startSleeper("d" + number));
      }
      tables.add(list(engines, options, crowd));
      tables.add(watched(engines, options, crowd));
    } finally {
      for (DockerEngine engine : engines) {
        each(crowd, number -> removed(engine, "d" + number));
      }
    }
    return tables;
  }

  private static Report.Table runs(List<DockerEngine> engines, Options options) throws Exception {
    var contestants = new ArrayList<Contestant>();
    for (DockerEngine engine : engines) {
      contestants.add(Contestant.timed(engine.name(), engine::runByCommand));
    }
    List<Report.Row> rows = Rounds.run(contestants, options.warm(5), options.size(30, 10));
    return table("docker run --rm true by Docker's command line", "ms", rows, 0.5, options);
  }

  private static Report.Table churn(List<DockerEngine> engines, Options options) throws Exception {
    int jobs = options.size(200, 40);
    var contestants = new ArrayList<Contestant>();
    for (DockerEngine engine : engines) {
      contestants.add(Contestant.timed(engine.name(), () -> each(jobs, _ -> engine.runTrue())));
    }
    // as many before as in a whole run: a daemon in Java is compiled while it runs
    List<Report.Row> rows =
        Rounds.run(contestants, options.warm(options.size(1, 5)), options.size(3, 3));
    String title = "%d short containers over Docker's API, %d at a time".formatted(jobs, AT_A_TIME);
    return table(title, "ms", rows, 0.25, options);
  }

  private static Report.Table list(List<DockerEngine> engines, Options options, int crowd)
      throws Exception {
    var contestants = new ArrayList<Contestant>();
    for (DockerEngine engine : engines) {
      contestants.add(Contestant.timed(engine.name(), () -> engine.run("ps")));
    }
    List<Report.Row> rows = Rounds.run(contestants, options.warm(5), options.size(20, 10));
    return table("docker ps with %d containers".formatted(crowd), "ms", rows, 1.0, options);
  }

  private static Report.Table watched(List<DockerEngine> engines, Options options, int crowd)
      throws Exception {
    var rows = new ArrayList<Report.Row>();
    for (DockerEngine engine : engines) {
      rows.add(Report.Row.of(engine.name(), watch(engine, crowd), ""));
    }
    String title =
        "processor time of %d s with events, and stats of %d containers"
            .formatted(WATCH.toSeconds(), crowd);
    return table(title, "cpu ms", rows, 1.0, options);
  }

  /** CPU milliseconds while clients follow the events and the stats of each container. */
  private static double watch(DockerEngine engine, int crowd) throws Exception {
    var streams = new ArrayList<InputStream>();
    try (var readers = new TaskScope("watchers")) {
      try {
        streams.add(engine.followEvents());
        for (int number = 0; number < crowd; number++) {
          streams.add(engine.followStats("d" + number));
        }
        for (InputStream stream : streams) {
          readers.fork(() -> drained(stream));
        }
        Pauses.REAL.pause(Duration.ofSeconds(2)); // until all have begun
        double before = engine.cpuSeconds();
        Pauses.REAL.pause(WATCH);
        return (engine.cpuSeconds() - before) * 1000;
      } finally {
        for (InputStream stream : streams) {
          stream.close();
        }
        readers.join();
      }
    }
  }

  private static boolean drained(InputStream stream) {
    try {
      return stream.transferTo(java.io.OutputStream.nullOutputStream()) > 0;
    } catch (IOException _) {
      return true; // closed at the end of the watch
    }
  }

  private static Report.Table table(
      String title, String unit, List<Report.Row> measured, double limit, Options options) {
    var rows = new ArrayList<>(measured);
    if (options.effort() != Options.Effort.SMOKE && rows.size() == 2) {
      double ours = smallest(rows.get(0));
      double peer = smallest(rows.get(1));
      String note = "smallest %.0f : %.0f".formatted(ours, peer);
      rows.add(Report.Row.atMost(limit, "zlayer : docker", ours / peer, note));
    }
    return new Report.Table(title, unit, measured.getLast().contestant(), rows);
  }

  /** What a busy machine adds says nothing about a program. */
  private static double smallest(Report.Row row) {
    return row.samples().values().stream().mapToDouble(Double::doubleValue).min().orElse(0);
  }

  private static void removed(DockerEngine engine, String name) {
    try {
      engine.remove(name);
    } catch (IOException _) {
      // it was never made
    }
  }

  /** Something to do with a number. */
  @FunctionalInterface
  private interface Numbered {
    void run(int number) throws Exception;
  }

  private static void each(int count, Numbered step) throws InterruptedException {
    try (var scope = new TaskScope("clients", AT_A_TIME)) {
      for (int number = 0; number < count; number++) {
        int own = number;
        scope.fork(
            () -> {
              step.run(own);
              return true;
            });
      }
      scope.join();
    }
  }
}
