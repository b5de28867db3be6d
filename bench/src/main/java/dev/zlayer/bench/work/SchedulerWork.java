package dev.zlayer.bench.work;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Samples;
import dev.zlayer.cluster.schedule.ClusterView;
import dev.zlayer.cluster.schedule.Constraints;
import dev.zlayer.cluster.schedule.Demand;
import dev.zlayer.cluster.schedule.NodeFacts;
import dev.zlayer.cluster.schedule.Placement;
import dev.zlayer.cluster.schedule.Plan;
import dev.zlayer.cluster.schedule.Scheduler;
import dev.zlayer.cluster.schedule.Workload;
import dev.zlayer.oci.Platform;
import dev.zlayer.spec.placement.Affinity;
import dev.zlayer.spec.placement.PlacementSpec.NodeMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.stream.IntStream;

/** How many replicas the scheduler places in a second, in a simulated cluster. */
public final class SchedulerWork implements Work {
  private static final double LEAST = 5_000;
  private static final long GIB = 1L << 30;
  private static final Platform LINUX = Platform.of("linux", "amd64");

  @Override
  public List<Report.Table> measure(Arena arena) {
    Options options = arena.options();
    int nodes = options.size(10_000, 2_000);
    int replicas = options.size("replicas", 100_000, 10_000);
    List<NodeFacts> facts = IntStream.range(0, nodes).mapToObj(SchedulerWork::node).toList();
    var rows = new ArrayList<Report.Row>();
    rows.add(row(options, "services of 100 replicas", facts, replicas, 100));
    rows.add(row(options, "services of one replica", facts, replicas, 1));
    return List.of(
        new Report.Table(
            "placements by the scheduler, %d nodes and %d replicas".formatted(nodes, replicas),
            "/s",
            "services of 100 replicas",
            rows),
        new Report.Table(
            "the pass after 1 % of the nodes were lost",
            "ms", "", List.of(lost(options, facts, replicas))));
  }

  /** A third each spreads, packs and has a selector; all of it is placed in one pass. */
  private static Report.Row row(
      Options options, String name, List<NodeFacts> nodes, int replicas, int each) {
    List<Workload> workloads = workloads(replicas, each);
    return rate(options, name, replicas, view(nodes, workloads, List.of()));
  }

  /** One node in a hundred is lost from a full cluster; only its replicas are placed. */
  private static Report.Row lost(Options options, List<NodeFacts> nodes, int replicas) {
    List<Workload> workloads = workloads(replicas, 20);
    List<Placement.Current> current =
        Scheduler.plan(view(nodes, workloads, List.of())).steps().stream()
            .map(step -> new Placement.Current(step.placement(), Placement.State.READY, false))
            .toList();
    List<NodeFacts> left = nodes.subList(0, nodes.size() - Math.max(1, nodes.size() / 100));
    Set<String> alive =
        left.stream().map(NodeFacts::id).collect(java.util.stream.Collectors.toSet());
    int missing =
        (int) current.stream().filter(one -> !alive.contains(one.placement().node())).count();
    ClusterView view = view(left, workloads, current);
    Plan _ = Scheduler.plan(view); // warms it
    long start = System.nanoTime();
    Plan plan = Scheduler.plan(view);
    double millis = (System.nanoTime() - start) / 1e6;
    long placed = plan.steps().stream().filter(Plan.Step.Assign.class::isInstance).count();
    return placed == missing
        ? Report.Row.of("one pass", millis, "%d placed again, no other moved".formatted(placed))
        : Report.Row.failed("one pass", "%d of %d were placed".formatted(placed, missing));
  }

  private static Report.Row rate(Options options, String name, int expected, ClusterView view) {
    var values = new ArrayList<Double>();
    int warm = options.warm(1);
    for (int round = 0; round < warm + options.size(3, 2); round++) {
      long start = System.nanoTime();
      Plan plan = Scheduler.plan(view);
      double seconds = (System.nanoTime() - start) / 1e9;
      long placed = plan.steps().stream().filter(Plan.Step.Assign.class::isInstance).count();
      if (placed != expected || !plan.unplaced().isEmpty()) {
        return Report.Row.failed(name, "%d of %d were placed".formatted(placed, expected));
      }
      if (round >= warm) {
        values.add(placed / seconds);
      }
    }
    var samples = new Samples(values);
    boolean fine = samples.median() >= LEAST || options.effort() == Options.Effort.SMOKE;
    return new Report.Row(
        name,
        samples,
        OptionalDouble.empty(),
        "%s the bar of %.0f/s; %d placed"
            .formatted(fine ? "meets" : Report.MISSED, LEAST, expected));
  }

  private static ClusterView view(
      List<NodeFacts> nodes, List<Workload> workloads, List<Placement.Current> current) {
    return new ClusterView(nodes, workloads, current, List.of(), Map.of());
  }

  private static NodeFacts node(int number) {
    return new NodeFacts(
        "n%05d".formatted(number),
        "host" + number,
        1,
        NodeFacts.Status.READY,
        16_000,
        64 * GIB,
        List.of(),
        List.of(LINUX),
        Set.of("oci"),
        Map.of("disk", number % 2 == 0 ? "ssd" : "hdd", "zone", "z" + number % 3),
        Set.of());
  }

  private static List<Workload> workloads(int replicas, int each) {
    return IntStream.rangeClosed(1, (replicas + each - 1) / each)
        .mapToObj(number -> workload(number, Math.min(each, replicas - (number - 1) * each)))
        .toList();
  }

  private static Workload workload(int number, int replicas) {
    return new Workload(
        "shop/s" + number,
        "r1",
        replicas,
        new Demand(
            100L * (1 + number % 8),
            GIB / 4 * (1 + number % 4),
            Optional.empty(),
            Set.of(),
            Set.of(),
            NodeMode.SHARED),
        new Constraints(
            List.of(LINUX),
            Optional.empty(),
            number % 3 == 2 ? Map.of("disk", "ssd") : Map.of(),
            Map.of(),
            number % 3 == 1 ? new Affinity.Pack() : new Affinity.Spread()),
        Workload.Rollout.START_FIRST,
        false,
        false,
        Optional.empty());
  }
}
