package dev.zlayer.cluster.schedule;

import java.util.List;
import java.util.Map;

/**
 * The next steps, in an order in which they can be written, and what cannot be placed now.
 *
 * @param unplaced also a replica that runs on a node that is drained and that fits nowhere else
 */
public record Plan(List<Step> steps, List<Unplaced> unplaced) {
  public Plan {
    steps = List.copyOf(steps);
    unplaced = List.copyOf(unplaced);
  }

  /** One change of the assignments. */
  public sealed interface Step {
    Placement placement();

    /**
     * The replica is to run on the node; writes it only while the node has this revision.
     *
     * @param nodeRevision of the facts that were decided on
     */
    record Assign(Placement placement, long nodeRevision) implements Step {}

    /** The replica stays on its node and gets the current revision. */
    record Update(Placement placement, long nodeRevision) implements Step {}

    /** The replica is no longer to run on the node. */
    record Withdraw(Placement placement, Cause cause) implements Step {}
  }

  /** Why a placement ends. */
  public enum Cause {
    /** The workload does not exist any more, or has fewer replicas. */
    NOT_WANTED,
    /** It runs, or will run, on another node. */
    MOVED,
    /** The node refused it. */
    REFUSED,
    /** The node is lost. */
    LOST
  }

  /**
   * A replica that fits nowhere.
   *
   * @param removed how many nodes each filter removed, those alone that removed any
   * @param reason for the user, with what can be done
   */
  public record Unplaced(Placement.Replica replica, Map<Filter, Integer> removed, String reason) {
    public Unplaced {
      removed = Map.copyOf(removed);
    }
  }
}
