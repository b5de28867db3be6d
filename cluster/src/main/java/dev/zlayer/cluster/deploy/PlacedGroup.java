package dev.zlayer.cluster.deploy;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.ReplicaGroup;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Replicas that are placed by themselves: those of a service, or of one of its roles.
 *
 * @param key among those of its deployment, as assignments name it
 * @param spec with the settings of its role
 */
record PlacedGroup(String key, String service, Optional<ReplicaGroup> role, ServiceSpec spec) {
  /** All of a deployment, by their keys. */
  static Map<String, PlacedGroup> of(DeploymentSpec deployment) {
    var all = new TreeMap<String, PlacedGroup>();
    deployment
        .services()
        .forEach(
            (name, service) -> {
              if (service.rtype() == RunType.SERVICE) {
                of(all, name, service);
              }
            });
    return all;
  }

  private static void of(Map<String, PlacedGroup> all, String name, ServiceSpec service) {
    if (service.lifecycle().replicaGroups().isEmpty()) {
      all.put(name, new PlacedGroup(name, name, Optional.empty(), service));
    }
    for (ReplicaGroup role : service.lifecycle().replicaGroups()) {
      String key = Desired.group(name, role.role());
      all.put(key, new PlacedGroup(key, name, Optional.of(role), service.of(role)));
    }
  }

  /** How many of them there should be. */
  int replicas(Desired desired) {
    return role.isPresent() && !desired.stopped().contains(service)
        ? role.get().count()
        : ClusterPlan.replicas(desired, service, spec);
  }

  /** Whether the scheduler decides more about each of them than its node. */
  boolean withSettings() {
    return spec.resources().gpu().isPresent();
  }
}
