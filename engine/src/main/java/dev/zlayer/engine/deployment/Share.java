package dev.zlayer.engine.deployment;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The part of a deployment that a cluster has assigned to this node: other replicas of it run on
 * other nodes.
 *
 * @param revision of the deployment in the cluster; this node counts its own revisions by itself
 * @param replicas the numbers of the replicas of each service that has any here
 */
public record Share(long revision, Map<String, List<Integer>> replicas) {
  public Share {
    var sorted = new TreeMap<String, List<Integer>>();
    replicas.forEach(
        (service, numbers) -> {
          if (!numbers.isEmpty()) {
            sorted.put(service, numbers.stream().sorted().toList());
          }
        });
    replicas = Map.copyOf(sorted);
  }
}
