package dev.zlayer.engine.service;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.engine.translate.ReplicaSettings;
import dev.zlayer.spec.check.WarmSupport;
import dev.zlayer.spec.network.NetworkingSpec;
import dev.zlayer.spec.network.PortMapping;
import dev.zlayer.spec.value.NetworkMode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The replicas of a service of which a cluster has chosen numbers and settings. Pure. */
final class PlacedReplicas {
  private PlacedReplicas() {}

  /** Every replica that is wanted here. */
  static ReplicaLayout layout(
      ServiceRevision revision, Map<String, Integer> counts, Map<String, String> hashes) {
    var numbers = new HashMap<String, List<Integer>>();
    var marks = new HashMap<ReplicaId, String>();
    revision
        .part()
        .map(ServiceRevision.Part::numbers)
        .orElse(Map.of())
        .forEach(
            (role, given) -> {
              if (counts.getOrDefault(role, 0) == given.size()) {
                numbers.put(role, given);
              }
              for (int number : given) {
                var slot = new ReplicaId(role, number);
                marks.put(slot, SpecHash.mark(revision.settings(slot)));
              }
            });
    return new ReplicaLayout(counts, hashes, numbers, marks);
  }

  /** What the container of one replica is made from. */
  static Resolved.Part of(ServiceRevision revision, Resolved.Part role, ReplicaId slot) {
    ReplicaSettings own = revision.settings(slot);
    return new Resolved.Part(
        role.service(), own.of(role.container()), role.hash() + SpecHash.mark(own));
  }

  /**
   * Two containers of one replica cannot have the same port of the machine, or the same GPU; of a
   * single instance there are never two.
   */
  static boolean exclusive(ServiceRevision revision, Optional<Resolved> resolved) {
    return revision.spec().lifecycle().single()
        || onHostPorts(revision.spec().networking())
        || (withGpus(revision) && resolved.filter(PlacedReplicas::alone).isPresent());
  }

  /** Whether nobody can see when containers are created. */
  static boolean ahead(Resolved resolved) {
    return resolved.parts().values().stream()
        .allMatch(role -> WarmSupport.unnoticed(role.service()));
  }

  private static boolean onHostPorts(NetworkingSpec networking) {
    return networking.effectiveMode() instanceof NetworkMode.Host
        || networking.portMappings().stream()
            .map(PortMapping::hostPort)
            .anyMatch(port -> port != 0);
  }

  private static boolean withGpus(ServiceRevision revision) {
    return revision.part().stream()
        .flatMap(part -> part.settings().values().stream())
        .flatMap(role -> role.values().stream())
        .anyMatch(own -> !own.gpus().isEmpty());
  }

  private static boolean alone(Resolved resolved) {
    return resolved.parts().values().stream()
        .flatMap(role -> role.container().gpu().stream())
        .anyMatch(gpu -> gpu.sharing() instanceof GpuRequest.Sharing.Exclusive);
  }
}
