package dev.zlayer.cluster.schedule;

import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.cluster.schedule.Placement.Current;
import dev.zlayer.cluster.schedule.Placement.Replica;
import dev.zlayer.cluster.schedule.Placement.State;
import dev.zlayer.oci.Platform;
import dev.zlayer.spec.placement.Affinity;
import dev.zlayer.spec.placement.PlacementSpec.NodeMode;
import dev.zlayer.spec.resources.GpuSpec.Sharing;
import dev.zlayer.spec.resources.GpuSpec.Vendor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/** Nodes, workloads and what became of plans, short to write. */
final class Views {
  static final long GIB = 1L << 30;

  final Map<String, NodeFacts> nodes = new HashMap<>();
  final Map<String, Workload> workloads = new HashMap<>();
  final List<ClusterView.Refusal> refusals = new ArrayList<>();
  final Map<String, String> volumes = new HashMap<>();
  List<Current> current = new ArrayList<>();

  static NodeFacts node(String id) {
    return new NodeFacts(
        id,
        "host-" + id,
        1,
        Status.READY,
        4000,
        8 * GIB,
        List.of(),
        List.of(Platform.of("linux", "amd64")),
        Set.of("oci"),
        Map.of(),
        Set.of());
  }

  static NodeFacts gpus(NodeFacts node, int count) {
    return new NodeFacts(
        node.id(),
        node.name(),
        node.revision(),
        node.status(),
        node.cpuMillis(),
        node.memoryBytes(),
        IntStream.range(0, count)
            .mapToObj(
                index ->
                    new NodeFacts.Gpu(
                        Integer.toString(index), "GPU-" + index, Vendor.NVIDIA, "NVIDIA H200"))
            .toList(),
        node.platforms(),
        node.runtimes(),
        node.labels(),
        node.ports());
  }

  static NodeFacts status(NodeFacts node, Status status) {
    return new NodeFacts(
        node.id(),
        node.name(),
        node.revision() + 1,
        status,
        node.cpuMillis(),
        node.memoryBytes(),
        node.gpus(),
        node.platforms(),
        node.runtimes(),
        node.labels(),
        node.ports());
  }

  static NodeFacts labels(NodeFacts node, Map<String, String> labels) {
    return new NodeFacts(
        node.id(),
        node.name(),
        node.revision(),
        node.status(),
        node.cpuMillis(),
        node.memoryBytes(),
        node.gpus(),
        node.platforms(),
        node.runtimes(),
        labels,
        node.ports());
  }

  static Workload workload(String id, int replicas) {
    return new Workload(
        id,
        "r1",
        replicas,
        cpu(1000),
        Constraints.NONE,
        Workload.Rollout.START_FIRST,
        false,
        false,
        Optional.empty());
  }

  static Workload with(Workload of, Demand demand) {
    return new Workload(
        of.id(),
        of.revision(),
        of.replicas(),
        demand,
        of.constraints(),
        of.rollout(),
        of.gang(),
        of.singleInstance(),
        of.distributed());
  }

  static Workload with(Workload of, Constraints constraints) {
    return new Workload(
        of.id(),
        of.revision(),
        of.replicas(),
        of.demand(),
        constraints,
        of.rollout(),
        of.gang(),
        of.singleInstance(),
        of.distributed());
  }

  static Workload with(Workload of, Affinity affinity) {
    Constraints old = of.constraints();
    return with(
        of,
        new Constraints(
            old.platforms(), old.runtime(), old.labels(), old.preferLabels(), affinity));
  }

  static Workload rolled(Workload of, String revision, int unavailable, int surge) {
    return new Workload(
        of.id(),
        revision,
        of.replicas(),
        of.demand(),
        of.constraints(),
        new Workload.Rollout(unavailable, surge),
        of.gang(),
        of.singleInstance(),
        of.distributed());
  }

  static Workload kind(Workload of, boolean gang, boolean singleInstance) {
    return new Workload(
        of.id(),
        of.revision(),
        of.replicas(),
        of.demand(),
        of.constraints(),
        of.rollout(),
        gang,
        singleInstance,
        of.distributed());
  }

  static Demand cpu(long millis) {
    return new Demand(millis, 0, Optional.empty(), Set.of(), Set.of(), NodeMode.SHARED);
  }

  static Demand mode(NodeMode mode) {
    return new Demand(0, 0, Optional.empty(), Set.of(), Set.of(), mode);
  }

  static Demand gpuDemand(int count, Sharing sharing) {
    return new Demand(
        0,
        0,
        Optional.of(new Demand.Gpus(count, Vendor.NVIDIA, "", List.of(), sharing)),
        Set.of(),
        Set.of(),
        NodeMode.SHARED);
  }

  Views add(NodeFacts... facts) {
    for (NodeFacts one : facts) {
      nodes.put(one.id(), one);
    }
    return this;
  }

  Views add(Workload... wanted) {
    for (Workload one : wanted) {
      workloads.put(one.id(), one);
    }
    return this;
  }

  ClusterView view() {
    return new ClusterView(
        List.copyOf(nodes.values()), List.copyOf(workloads.values()), current, refusals, volumes);
  }

  Plan plan() {
    return Scheduler.plan(view());
  }

  /** Writes a plan: what is withdrawn stops, what is assigned is pending. */
  Plan apply() {
    Plan plan = plan();
    for (Plan.Step step : plan.steps()) {
      switch (step) {
        case Plan.Step.Assign(var placement, _) ->
            current.add(new Current(placement, State.PENDING, single(placement)));
        case Plan.Step.Update(var placement, _) -> {
          current.removeIf(same(placement));
          current.add(new Current(placement, State.PENDING, single(placement)));
        }
        case Plan.Step.Withdraw(var placement, _) -> {
          boolean known = nodes.containsKey(placement.node());
          current.removeIf(same(placement));
          if (known) {
            current.add(new Current(placement, State.STOPPING, single(placement)));
          }
        }
      }
    }
    return plan;
  }

  private boolean single(Placement placement) {
    Workload workload = workloads.get(placement.replica().workload());
    return workload != null && workload.singleInstance();
  }

  private static Predicate<Current> same(Placement placement) {
    return one ->
        one.placement().replica().equals(placement.replica())
            && one.placement().node().equals(placement.node());
  }

  /** What nodes do: the pending become ready, the stopping end. */
  void settle() {
    current =
        new ArrayList<>(
            current.stream()
                .filter(one -> one.state() != State.STOPPING)
                .map(
                    one ->
                        one.state() == State.PENDING && nodes.containsKey(one.placement().node())
                            ? new Current(one.placement(), State.READY, one.claimed())
                            : one)
                .toList());
  }

  /** Rounds until nothing changes any more; how many that took. */
  int converge() {
    for (int round = 0; round < 1000; round++) {
      boolean still = apply().steps().isEmpty();
      settle();
      if (still) {
        return round;
      }
    }
    throw new AssertionError("it does not come to rest");
  }

  /** The nodes of a workload's replicas, in the order of their numbers. */
  List<String> where(String workload) {
    return current.stream()
        .map(Current::placement)
        .filter(placement -> placement.replica().workload().equals(workload))
        .sorted(java.util.Comparator.comparing(Placement::replica))
        .map(Placement::node)
        .toList();
  }

  Optional<Placement> placement(String workload, int number) {
    return current.stream()
        .map(Current::placement)
        .filter(placement -> placement.replica().equals(new Replica(workload, number)))
        .findFirst();
  }
}
