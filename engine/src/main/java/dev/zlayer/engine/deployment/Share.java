package dev.zlayer.engine.deployment;

import dev.zlayer.container.ContainerId;
import dev.zlayer.engine.service.ServiceRevision;
import dev.zlayer.engine.translate.ReplicaSettings;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.ReplicaGroup;
import dev.zlayer.spec.service.ScaleSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The part of a deployment that a cluster has assigned to this node: other replicas of it run on
 * other nodes.
 *
 * @param revision of the deployment in the cluster; this node counts its own revisions by itself
 * @param replicas the numbers of the replicas that are here, by {@link #group}
 * @param settings by group and number, of replicas that have any
 */
public record Share(
    long revision,
    Map<String, List<Integer>> replicas,
    Map<String, Map<String, ReplicaSettings>> settings) {
  public Share {
    var sorted = new TreeMap<String, List<Integer>>();
    replicas.forEach(
        (group, numbers) -> {
          if (!numbers.isEmpty()) {
            sorted.put(group, numbers.stream().sorted().toList());
          }
        });
    replicas = Map.copyOf(sorted);
    settings = Map.copyOf(settings);
  }

  /** Of replicas without settings. */
  public Share(long revision, Map<String, List<Integer>> replicas) {
    this(revision, replicas, Map.of());
  }

  /** Replicas that are numbered together: a service, or one of its roles. */
  public static String group(String service, String role) {
    return role.equals(ContainerId.DEFAULT_ROLE) ? service : service + "/" + role;
  }

  /** Whether any replica of a service, of whatever role, is here. */
  public boolean has(String service) {
    return replicas.keySet().stream()
        .anyMatch(group -> group.equals(service) || group.startsWith(service + "/"));
  }

  /** A service as it runs here; empty when nothing of it does. */
  Optional<ServiceSpec> of(String name, ServiceSpec service) {
    List<ReplicaGroup> groups = service.lifecycle().replicaGroups();
    if (groups.isEmpty()) {
      int count = numbers(name, ContainerId.DEFAULT_ROLE).size();
      return count == 0
          ? Optional.empty()
          : Optional.of(
              service.with(service.lifecycle().with(scale(service.lifecycle().scale(), count))));
    }
    var here = new ArrayList<ReplicaGroup>();
    for (ReplicaGroup group : groups) {
      int count = numbers(name, group.role()).size();
      if (count > 0) {
        here.add(group.with(count));
      }
    }
    return here.isEmpty()
        ? Optional.empty()
        : Optional.of(service.with(service.lifecycle().with(List.copyOf(here))));
  }

  /** The number is that of the cluster; where it follows the load, that is measured here. */
  private static ScaleSpec scale(ScaleSpec scale, int count) {
    return scale instanceof ScaleSpec.Adaptive adaptive
            && (adaptive.targets().cpu().isPresent() || adaptive.targets().memory().isPresent())
        ? new ScaleSpec.Adaptive(
            count, count, adaptive.cooldown(), adaptive.targets(), Optional.empty())
        : new ScaleSpec.Fixed(count);
  }

  /** The replicas of a service that are here, as its engine wants to know them. */
  ServiceRevision.Part part(String name, ServiceSpec service) {
    var numbers = new HashMap<String, List<Integer>>();
    var given = new HashMap<String, Map<Integer, ReplicaSettings>>();
    List<String> roles =
        service.lifecycle().replicaGroups().isEmpty()
            ? List.of(ContainerId.DEFAULT_ROLE)
            : service.lifecycle().replicaGroups().stream().map(ReplicaGroup::role).toList();
    for (String role : roles) {
      numbers.put(role, numbers(name, role));
      var own = new HashMap<Integer, ReplicaSettings>();
      settings
          .getOrDefault(group(name, role), Map.of())
          .forEach((number, one) -> own.put(Integer.valueOf(number), one));
      given.put(role, Map.copyOf(own));
    }
    return new ServiceRevision.Part(numbers, given);
  }

  private List<Integer> numbers(String service, String role) {
    return replicas.getOrDefault(group(service, role), List.of());
  }
}
