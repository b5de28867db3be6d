package dev.zlayer.testkit.cluster;

import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What was asked of a cluster, what it answered, and what its containers wrote themselves. Times
 * are seconds since the machine started, which no clock change moves.
 *
 * @param starts what executions wrote when they began
 * @param scheduled executions of the schedule, all that any node ever listed
 * @param ticks how often the command of the schedule began
 * @param marks what containers of services wrote
 * @param singles services of which two containers may never run at the same time
 * @param unsettled why the desired state was not reached after faults had ended
 */
public record History(
    List<Request> requests,
    List<Result> results,
    List<Start> starts,
    List<Scheduled> scheduled,
    int ticks,
    List<Mark> marks,
    Set<String> singles,
    List<Round> rounds,
    List<String> unsettled) {
  public History {
    requests = List.copyOf(requests);
    results = List.copyOf(results);
    starts = List.copyOf(starts);
    scheduled = List.copyOf(scheduled);
    marks = List.copyOf(marks);
    singles = Set.copyOf(singles);
    rounds = List.copyOf(rounds);
    unsettled = List.copyOf(unsettled);
  }

  /**
   * An execution that was asked for, of a job that is not tried again.
   *
   * @param key what it writes when it begins, and prints before it ends
   * @param id when the cluster has acknowledged it
   * @param code with which it ends
   * @param maybeLost a node was lost meanwhile, so it may end as lost
   */
  public record Request(String key, Optional<String> id, int code, boolean maybeLost) {}

  /** How an execution ended, as any node answers; no status when it is unknown or has not. */
  public record Result(String id, String status, Optional<Integer> code, String output) {}

  /** A command that began. */
  public record Start(String key, double time) {}

  /** An execution that a schedule made. */
  public record Scheduled(String id, String due) {}

  /** What a container of a service wrote. */
  public record Mark(String service, String container, Kind kind, double time) {
    /** START first, ALIVE every second, STOP when it was asked to end. */
    public enum Kind {
      START,
      ALIVE,
      STOP
    }
  }

  /**
   * Faults that happened at the same time.
   *
   * @param until when the desired state was reached again after they had ended
   * @param steady a service of which no container may end meanwhile: nothing happened to the nodes
   *     that run it, or to their agents
   */
  public record Round(String name, double from, double until, Optional<String> steady) {}
}
