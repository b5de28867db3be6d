package dev.zlayer.bench.work;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Samples;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.cluster.Fault;
import dev.zlayer.testkit.cluster.FaultPlan;
import dev.zlayer.testkit.cluster.FaultRun;
import dev.zlayer.testkit.cluster.TestCluster;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Faults of all kinds, in an order that a seed gives, while requests are made of a cluster with
 * real containers. What it promised is checked; how long it takes until all is as desired again is
 * what is measured.
 */
public final class FaultsWork implements Work {
  private static final int NODES = 5;

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Options options = arena.options();
    // the smallest size is a test of its own: ClusterFaultsIT
    if (!Files.isExecutable(arena.program()) || options.effort() == Options.Effort.SMOKE) {
      return List.of();
    }
    int seed = options.sizes().getOrDefault("seed", ThreadLocalRandom.current().nextInt(1_000_000));
    var time = Duration.ofMinutes(options.size("minutes", 20, 3));
    System.out.printf("seed of the faults: --seed=%d%n", seed);
    var serve = List.of(arena.program().toString(), "serve");
    List<String> violations;
    List<FaultRun.Settled> settled;
    List<Double> gaps;
    try (var cluster =
        new TestCluster(arena.directory("faults"), serve, NODES, true, FaultRun.SETTINGS)) {
      cluster.join();
      var run = new FaultRun(cluster, new FaultPlan(seed, NODES, true), System.out::println);
      run.prepare();
      violations = run.run(Deadline.after(time));
      settled = run.settled();
      gaps = run.gaps();
    }
    violations.forEach(line -> System.out.println("   " + line));
    var rows = new ArrayList<Report.Row>();
    rows.add(
        Report.Row.atMost(
            0,
            "promises broken",
            violations.size(),
            "seed %d, %d rounds".formatted(seed, settled.size())));
    return List.of(
        new Report.Table("faults for %d minutes".formatted(time.toMinutes()), "number", "", rows),
        new Report.Table("end of a fault until all is as desired", "s", "", settling(settled)),
        new Report.Table("single instance", "s", "", gaps(gaps)));
  }

  /** Empty when it ran all the time. */
  private static List<Report.Row> gaps(List<Double> gaps) {
    String note = "cluster_claim_seconds: 6, moved and lost %d times".formatted(gaps.size());
    return gaps.isEmpty()
        ? List.of()
        : List.of(
            new Report.Row("no container ran", new Samples(gaps), OptionalDouble.empty(), note));
  }

  private static List<Report.Row> settling(List<FaultRun.Settled> settled) {
    var rows = new ArrayList<Report.Row>();
    for (Fault fault : Fault.values()) {
      List<Double> values =
          settled.stream()
              .filter(one -> one.fault() == fault)
              .map(FaultRun.Settled::seconds)
              .toList();
      if (!values.isEmpty()) {
        String name = fault.name().toLowerCase(java.util.Locale.ROOT).replace('_', ' ');
        rows.add(new Report.Row(name, new Samples(values), OptionalDouble.empty(), ""));
      }
    }
    return rows;
  }
}
