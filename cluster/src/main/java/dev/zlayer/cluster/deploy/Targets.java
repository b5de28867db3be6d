package dev.zlayer.cluster.deploy;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** What the ids of workloads mean, during one plan. */
final class Targets {
  private final Map<String, Target> targets = new HashMap<>();

  /**
   * What a workload is.
   *
   * @param name by which people know why it is not placed
   * @param group of replicas
   * @param execution its key, when it is one of a job
   */
  record Target(String deployment, String name, String group, Optional<String> execution) {}

  Target of(String workload) {
    return Objects.requireNonNull(targets.get(workload));
  }

  /** The id of a workload of replicas. */
  String group(String deployment, String group, String service) {
    String id = deployment + "/" + group;
    targets.putIfAbsent(id, new Target(deployment, service, group, Optional.empty()));
    return id;
  }

  /** The id of a workload of one execution. */
  String execution(ClusterExecution one) {
    targets.put(
        one.workload(),
        new Target(
            one.deployment(), one.job() + "/" + one.number(), one.job(), Optional.of(one.key())));
    return one.workload();
  }
}
