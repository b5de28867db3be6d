package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.Election;
import dev.zlayer.scale.Autoscaler;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.ScaleSpec;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Changes the number of replicas of services with the load that nodes report, for the leader. What
 * it remembers between readings begins anew with each leader.
 */
final class Scaling {
  private static final Duration INTERVAL = Duration.ofSeconds(10);
  private static final Duration LIMIT = Duration.ofSeconds(5);

  private final ClusterStore store;
  private final InstantSource clock;
  private final Map<String, Autoscaler.Memory> memories = new HashMap<>();
  private Instant next = Instant.MIN;

  Scaling(ClusterStore store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
  }

  /** One reading of all services, when it is time for one. */
  void follow(ClusterState state, ClusterPlan.Files files, Election.Term term)
      throws InterruptedException {
    Instant now = clock.instant();
    if (now.isBefore(next) && next.isBefore(now.plus(INTERVAL).plusSeconds(1))) {
      return;
    }
    next = now.plus(INTERVAL);
    var known = new HashSet<String>();
    for (Desired desired : state.desired().values()) {
      Optional<DeploymentSpec> spec = files.find(desired.name(), desired.revision());
      if (spec.isPresent() && desired.removing().isEmpty()) {
        for (Map.Entry<String, ServiceSpec> one : spec.get().services().entrySet()) {
          if (adaptive(one.getValue()).isPresent() && !desired.stopped().contains(one.getKey())) {
            known.add(desired.name() + "/" + one.getKey());
            scale(state, desired, one.getKey(), one.getValue(), now, term);
          }
        }
      }
    }
    memories.keySet().retainAll(known);
  }

  void clear() {
    memories.clear();
    next = Instant.MIN;
  }

  private static Optional<ScaleSpec.Adaptive> adaptive(ServiceSpec service) {
    return service.rtype() == RunType.SERVICE
            && service.lifecycle().replicaGroups().isEmpty()
            && service.lifecycle().scale() instanceof ScaleSpec.Adaptive adaptive
            && (adaptive.targets().cpu().isPresent() || adaptive.targets().memory().isPresent())
        ? Optional.of(adaptive)
        : Optional.empty();
  }

  private void scale(
      ClusterState state,
      Desired desired,
      String name,
      ServiceSpec service,
      Instant now,
      Election.Term term)
      throws InterruptedException {
    int replicas = ClusterPlan.replicas(desired, name, service);
    Optional<Autoscaler.Load> load = load(state, desired.name(), name);
    if (load.isEmpty()) {
      return;
    }
    String key = desired.name() + "/" + name;
    Autoscaler.Memory before = memories.getOrDefault(key, Autoscaler.Memory.NONE);
    Autoscaler.Decision decision =
        Autoscaler.decide(adaptive(service).orElseThrow(), replicas, before, load.get(), now);
    // one that was added has to carry its part before there is another one
    boolean early = decision.replicas() > replicas && state.ready(desired.name(), name) < replicas;
    memories.put(key, early ? decision.memory().changed(before.changedAt()) : decision.memory());
    if (decision.replicas() != replicas && !early) {
      var _ =
          store.transact(
              List.of(term.condition(), state.unchanged(StoreKeys.DESIRED + desired.name())),
              List.of(
                  new Change.Put(
                      StoreKeys.DESIRED + desired.name(),
                      desired.scaled(name, decision.replicas()).json())),
              Deadline.after(LIMIT));
    }
  }

  /** Of all replicas on average; a node counts by the number that it has. */
  static Optional<Autoscaler.Load> load(ClusterState state, String deployment, String service) {
    double cpu = 0;
    double memory = 0;
    int withCpu = 0;
    int withMemory = 0;
    for (Map.Entry<String, Assignment> one : state.assignments(deployment).entrySet()) {
      var place = new Place(one.getKey(), deployment);
      int ready = state.ready(place, service).size();
      Optional<Desired.Load> load =
          Optional.ofNullable(state.reports().get(place))
              .flatMap(report -> report.service(service))
              .flatMap(Desired.ServiceReport::load);
      if (load.flatMap(Desired.Load::cpu).isPresent()) {
        cpu += ready * load.get().cpu().get();
        withCpu += ready;
      }
      if (load.flatMap(Desired.Load::memory).isPresent()) {
        memory += ready * load.get().memory().get();
        withMemory += ready;
      }
    }
    return withCpu + withMemory == 0
        ? Optional.empty()
        : Optional.of(
            new Autoscaler.Load(
                average(cpu, withCpu), average(memory, withMemory), OptionalDouble.empty()));
  }

  private static OptionalDouble average(double sum, int replicas) {
    return replicas == 0 ? OptionalDouble.empty() : OptionalDouble.of(sum / replicas);
  }
}
