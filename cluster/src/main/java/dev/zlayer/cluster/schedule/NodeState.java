package dev.zlayer.cluster.schedule;

import dev.zlayer.spec.placement.PlacementSpec.NodeMode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A node with what is left of it, during one pass of the scheduler. */
final class NodeState {
  /** Of a node on which everything is in use. */
  static final int FULL = (1 << 20) - 1;

  final NodeFacts facts;

  /** Its place in the order of ids, which decides between equals. */
  final int index;

  private final GpuSlots gpus;
  private final Map<HostPort, Integer> ports = new HashMap<>();
  private long cpuFree;
  private long memoryFree;
  private int placements;
  private int exclusive;
  private int utilisation;

  /** Replicas of the workload that was counted last. */
  private int own;

  private int ownStamp;

  NodeState(NodeFacts facts, int index) {
    this.facts = facts;
    this.index = index;
    this.gpus = new GpuSlots(facts.gpus());
    this.cpuFree = facts.cpuMillis();
    this.memoryFree = facts.memoryBytes();
    facts.ports().forEach(port -> ports.put(port, 1));
  }

  void reserve(Placement placement) {
    change(placement, 1);
  }

  void release(Placement placement) {
    change(placement, -1);
  }

  private void change(Placement placement, int by) {
    Demand demand = placement.demand();
    cpuFree -= by * demand.cpuMillis();
    memoryFree -= by * demand.memoryBytes();
    placements += by;
    exclusive += demand.mode() == NodeMode.EXCLUSIVE ? by : 0;
    demand.ports().forEach(port -> ports.merge(port, by, (a, b) -> a + b == 0 ? null : a + b));
    demand.gpus().ifPresent(wanted -> gpus.take(placement.gpus(), wanted, by));
    utilisation =
        Math.max(share(cpuFree, facts.cpuMillis()), share(memoryFree, facts.memoryBytes()));
  }

  private static int share(long free, long whole) {
    return whole <= 0 ? FULL : (int) Math.clamp(FULL - (double) FULL * free / whole, 0, FULL);
  }

  /** What of that which changes excludes this node; volumes are asked for elsewhere. */
  @Nullable Filter lacks(Demand demand, int stamp) {
    if (exclusive > 0
        || (demand.mode() == NodeMode.EXCLUSIVE && placements > 0)
        || (demand.mode() == NodeMode.DEDICATED && own(stamp) > 0)) {
      return Filter.MODE;
    }
    if (!demand.ports().isEmpty() && demand.ports().stream().anyMatch(ports::containsKey)) {
      return Filter.PORTS;
    }
    if (demand.gpus().isPresent() && !gpus.fits(demand.gpus().get())) {
      return Filter.GPUS;
    }
    if (demand.cpuMillis() > 0 && demand.cpuMillis() > cpuFree) {
      return Filter.CPU;
    }
    return demand.memoryBytes() > 0 && demand.memoryBytes() > memoryFree ? Filter.MEMORY : null;
  }

  List<String> chooseGpus(Demand demand) {
    return demand.gpus().map(gpus::choose).orElse(List.of());
  }

  int own(int stamp) {
    return ownStamp == stamp ? own : 0;
  }

  void count(int stamp, int by) {
    own = own(stamp) + by;
    ownStamp = stamp;
  }

  int placements() {
    return placements;
  }

  int utilisation() {
    return utilisation;
  }

  int freeGpus() {
    return gpus.free();
  }

  int usedGpus() {
    return gpus.used();
  }

  long cpuFree() {
    return cpuFree;
  }

  long memoryFree() {
    return memoryFree;
  }
}
