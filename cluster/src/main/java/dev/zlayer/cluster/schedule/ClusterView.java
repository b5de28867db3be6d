package dev.zlayer.cluster.schedule;

import java.util.List;
import java.util.Map;

/**
 * All that a decision depends on, as of one revision of the store.
 *
 * @param volumes the node on which each volume lies, also when that node is lost
 */
public record ClusterView(
    List<NodeFacts> nodes,
    List<Workload> workloads,
    List<Placement.Current> current,
    List<Refusal> refusals,
    Map<String, String> volumes) {
  public ClusterView {
    nodes = List.copyOf(nodes);
    workloads = List.copyOf(workloads);
    current = List.copyOf(current);
    refusals = List.copyOf(refusals);
    volumes = Map.copyOf(volumes);
  }

  /**
   * A node's answer that it cannot run a revision of a workload, such as RouteToPeer. It holds
   * until the node's facts or the workload change.
   */
  public record Refusal(
      String workload, String revision, String node, long nodeRevision, String reason) {}
}
