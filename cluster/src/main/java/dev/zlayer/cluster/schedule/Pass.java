package dev.zlayer.cluster.schedule;

import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.spec.placement.Affinity;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The nodes during one pass: what is left of them, and which of them is the best for a replica. */
final class Pass {
  private static final int PREFER_BITS = 6;
  private static final int SCORE_BITS = 20;
  private static final int COUNT_BITS = 16;

  private final Map<String, NodeState> nodes = new TreeMap<>();
  private final Map<String, String> volumes;
  private final Map<String, String> refusals = new HashMap<>();
  private final Map<Constraints, NodeState[]> eligible = new HashMap<>();

  /** Numbers the workloads, so that nobody has to reset their counts. */
  private int stamp;

  Pass(ClusterView view) {
    var sorted = new TreeMap<String, NodeFacts>();
    view.nodes().forEach(facts -> sorted.put(facts.id(), facts));
    sorted.forEach((id, facts) -> nodes.put(id, new NodeState(facts, nodes.size())));
    this.volumes = new HashMap<>(view.volumes());
    for (Placement.Current current : view.current()) {
      Placement placement = current.placement();
      placement.demand().volumes().forEach(name -> volumes.putIfAbsent(name, placement.node()));
      node(placement).ifPresent(node -> node.reserve(placement));
    }
    view.refusals()
        .forEach(
            refusal ->
                refusals.put(
                    key(
                        refusal.workload(),
                        refusal.revision(),
                        refusal.node(),
                        refusal.nodeRevision()),
                    refusal.reason()));
  }

  private static String key(String workload, String revision, String node, long nodeRevision) {
    return String.join("\n", workload, revision, node, Long.toString(nodeRevision));
  }

  Optional<NodeState> node(Placement placement) {
    return Optional.ofNullable(nodes.get(placement.node()));
  }

  /** Whoever is placed from now on belongs to the workload with these placements. */
  void begin(List<Placement.Current> placements) {
    stamp++;
    placements.forEach(one -> node(one.placement()).ifPresent(node -> node.count(stamp, 1)));
  }

  void add(Placement placement) {
    NodeState node = node(placement).orElseThrow();
    node.reserve(placement);
    node.count(stamp, 1);
    placement.demand().volumes().forEach(name -> volumes.putIfAbsent(name, placement.node()));
  }

  void remove(Placement placement) {
    node(placement)
        .ifPresent(
            node -> {
              node.release(placement);
              node.count(stamp, -1);
            });
  }

  /** The volumes that a placement of {@link #add} bound to its node, for an undo. */
  Set<String> unbound(Demand demand) {
    var unbound = new HashSet<>(demand.volumes());
    unbound.removeAll(volumes.keySet());
    return unbound;
  }

  void unbind(Set<String> names) {
    names.forEach(volumes::remove);
  }

  /**
   * The best nodes for one workload, taken one after the other.
   *
   * @param wanted how many replicas are to be placed; for one, the best node alone is found
   */
  Candidates candidates(Workload workload, int wanted) {
    NodeState[] fitting = eligible(workload.constraints());
    var candidates = new Candidates(wanted == 1 ? 1 : fitting.length);
    for (NodeState node : fitting) {
      long score = score(node, workload);
      if (candidates.room(score) && lacks(node, workload) == null) {
        candidates.add(node, score);
      }
    }
    candidates.order();
    return candidates;
  }

  /** Those that pass the filters whose answer no placement changes. */
  private NodeState[] eligible(Constraints constraints) {
    return eligible.computeIfAbsent(
        constraints,
        key ->
            nodes.values().stream()
                .filter(node -> node.facts.status() == Status.READY)
                .filter(node -> mismatch(node.facts, key) == null)
                .toArray(NodeState[]::new));
  }

  private static @Nullable Filter mismatch(NodeFacts node, Constraints constraints) {
    if (!constraints.serves(node)) {
      return Filter.PLATFORM;
    }
    if (constraints.runtime().isPresent()
        && !node.runtimes().contains(constraints.runtime().get())) {
      return Filter.RUNTIME;
    }
    if (!constraints.labelled(node)) {
      return Filter.LABELS;
    }
    return constraints.pinned(node) ? null : Filter.PIN;
  }

  private @Nullable Filter lacks(NodeState node, Workload workload) {
    if (!refusals.isEmpty() && refused(node, workload)) {
      return Filter.REFUSED;
    }
    return !workload.demand().volumes().isEmpty() && elsewhere(workload.demand(), node)
        ? Filter.VOLUMES
        : node.lacks(workload.demand(), stamp);
  }

  private boolean elsewhere(Demand demand, NodeState node) {
    return demand.volumes().stream()
        .map(volumes::get)
        .anyMatch(holder -> holder != null && !holder.equals(node.facts.id()));
  }

  private boolean refused(NodeState node, Workload workload) {
    return refusals.containsKey(key(workload, node));
  }

  private static String key(Workload workload, NodeState node) {
    return key(workload.id(), workload.revision(), node.facts.id(), node.facts.revision());
  }

  /** What the first node says that has refused it, in the order of their ids. */
  Optional<String> refusal(Workload workload) {
    return nodes.values().stream()
        .flatMap(
            node ->
                Optional.ofNullable(refusals.get(key(workload, node)))
                    .map(reason -> "node '%s': %s".formatted(node.facts.name(), reason))
                    .stream())
        .findFirst();
  }

  /** Whether what runs on a node may stay there in the current revision of its workload. */
  boolean keeps(NodeState node, Workload workload) {
    return mismatch(node.facts, workload.constraints()) == null && lacks(node, workload) == null;
  }

  /**
   * Lower is better. Preferred labels first; then spread takes the node with the fewest replicas of
   * the workload and of those the least used one, and pack the most used one. For GPUs, use is that
   * of GPUs.
   */
  private long score(NodeState node, Workload workload) {
    Constraints constraints = workload.constraints();
    boolean gpus = workload.demand().gpus().isPresent();
    boolean pack = constraints.affinity() instanceof Affinity.Pack;
    int prefer = constraints.preferLabels().isEmpty() ? 0 : constraints.preferred(node.facts);
    long score = limited(-1 - prefer, PREFER_BITS);
    int first;
    int second;
    if (pack) {
      first = gpus ? node.freeGpus() : NodeState.FULL - node.utilisation();
      second = gpus ? NodeState.FULL - node.utilisation() : 0;
    } else {
      first = node.own(stamp);
      second = gpus ? node.usedGpus() : node.utilisation();
    }
    score = score << SCORE_BITS | Math.min(first, NodeState.FULL);
    score = score << SCORE_BITS | Math.min(second, NodeState.FULL);
    int most = (1 << COUNT_BITS) - 1;
    int placements = Math.min(node.placements(), most);
    return score << COUNT_BITS | (pack ? most - placements : placements);
  }

  private static long limited(int value, int bits) {
    return value & ((1L << bits) - 1);
  }

  /** How many nodes each filter removes for one more replica, in the order of the filters. */
  Map<Filter, Integer> removed(Workload workload) {
    var removed = new EnumMap<Filter, Integer>(Filter.class);
    for (NodeState node : nodes.values()) {
      Filter filter = first(node, workload);
      if (filter != null) {
        removed.merge(filter, 1, Integer::sum);
      }
    }
    return removed;
  }

  private @Nullable Filter first(NodeState node, Workload workload) {
    if (node.facts.status() != Status.READY) {
      return Filter.STATUS;
    }
    if (refused(node, workload)) {
      return Filter.REFUSED;
    }
    Filter fixed = mismatch(node.facts, workload.constraints());
    return fixed != null ? fixed : lacks(node, workload);
  }

  /** The most that any ready node has left, for explanations. */
  long mostFree(Filter resource) {
    return nodes.values().stream()
        .filter(node -> node.facts.status() == Status.READY)
        .mapToLong(
            node ->
                switch (resource) {
                  case CPU -> node.cpuFree();
                  case MEMORY -> node.memoryFree();
                  default -> node.freeGpus();
                })
        .max()
        .orElse(0);
  }

  int size() {
    return nodes.size();
  }

  /** Where the volumes lie that lie anywhere. */
  List<String> holders(Demand demand) {
    var holders = new ArrayList<String>();
    demand.volumes().stream()
        .sorted()
        .forEach(
            name -> {
              String holder = volumes.get(name);
              if (holder != null) {
                NodeState node = nodes.get(holder);
                holders.add(
                    node == null
                        ? "volume '%s' is on node %s, which is lost".formatted(name, holder)
                        : "volume '%s' is on node %s".formatted(name, node.facts.name()));
              }
            });
    return holders;
  }

  /**
   * A heap of the nodes that fit. While one workload is placed, a node only becomes fuller: one
   * that no longer fits is never asked again, and only the chosen one changes its score.
   */
  final class Candidates {
    private final NodeState[] heap;
    private final long[] scores;
    private int size;

    Candidates(int room) {
      this.heap = new NodeState[room];
      this.scores = new long[room];
    }

    /** Nodes come in their order, so one that is not better than the only one is worse. */
    private boolean room(long score) {
      return size < heap.length || score < scores[0];
    }

    private void add(NodeState node, long score) {
      int place = size < heap.length ? size++ : 0;
      heap[place] = node;
      scores[place] = score;
    }

    private void order() {
      for (int parent = size / 2 - 1; parent >= 0; parent--) {
        sink(parent);
      }
    }

    /** The best node that still fits, which stays in the heap; {@link #update} after its use. */
    Optional<NodeState> best(Workload workload) {
      while (size > 0 && lacks(heap[0], workload) != null) {
        heap[0] = heap[--size];
        scores[0] = scores[size];
        sink(0);
      }
      return size == 0 ? Optional.empty() : Optional.of(heap[0]);
    }

    void update(Workload workload) {
      scores[0] = score(heap[0], workload);
      sink(0);
    }

    private void sink(int from) {
      int parent = from;
      while (true) {
        int left = 2 * parent + 1;
        int least = left < size && before(left, parent) ? left : parent;
        least = left + 1 < size && before(left + 1, least) ? left + 1 : least;
        if (least == parent) {
          return;
        }
        NodeState node = heap[parent];
        long score = scores[parent];
        heap[parent] = heap[least];
        scores[parent] = scores[least];
        heap[least] = node;
        scores[least] = score;
        parent = least;
      }
    }

    private boolean before(int one, int other) {
      return scores[one] < scores[other]
          || (scores[one] == scores[other] && heap[one].index < heap[other].index);
    }
  }
}
