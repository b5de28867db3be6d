package dev.zlayer.cluster.schedule;

import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * That a node runs a replica. The scheduler makes it, an assignment carries it to the node, and it
 * comes back to the scheduler with a state.
 *
 * @param revision of the workload
 * @param gpus ids of the node's GPUs that the replica gets
 * @param variables for the containers, beside those of the spec
 */
public record Placement(
    Replica replica,
    String node,
    String revision,
    Demand demand,
    List<String> gpus,
    Map<String, String> variables) {
  public Placement {
    gpus = List.copyOf(gpus);
    variables = Map.copyOf(variables);
  }

  /** One of the replicas of a workload. */
  public record Replica(String workload, int number) implements Comparable<Replica> {
    private static final Comparator<Replica> ORDER =
        Comparator.comparing(Replica::workload).thenComparingInt(Replica::number);

    @Override
    public int compareTo(Replica other) {
      return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
      return workload + "#" + number;
    }
  }

  /** What is known about an assigned replica. */
  public enum State {
    /** Not yet ready in the assigned revision, for whatever reason. */
    PENDING,
    /** Serves in the assigned revision. */
    READY,
    /** The node cannot run it; its reason is a {@link ClusterView.Refusal}. */
    REFUSED,
    /** No longer assigned, and not yet known to have ended. */
    STOPPING
  }

  /**
   * A placement that exists.
   *
   * @param claimed a single instance whose time on that node has not run out
   */
  public record Current(Placement placement, State state, boolean claimed) {
    boolean live() {
      return state == State.PENDING || state == State.READY;
    }

    boolean ready() {
      return state == State.READY;
    }
  }
}
