package dev.zlayer.engine.service;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.scale.Autoscaler;
import dev.zlayer.spec.network.EndpointSpec;
import java.util.List;
import java.util.Optional;

/**
 * One service, as it is shown.
 *
 * @param revision the revision of the deployment that it runs, or is on the way to
 * @param wanted replicas that there should be
 * @param ready replicas that take traffic
 * @param waitingFor what it waits for, in words: {@code db to be healthy}
 * @param rollout a change on its way, or the last one when it was taken back
 * @param endpointError why an endpoint is not served, after a second attempt failed too
 * @param settling a replica works, but not long enough to be sure that it lasts
 * @param lastError of the service itself or of its latest replica that failed
 * @param load of its replicas on average, where their number follows it
 */
public record ServiceStatus(
    ServiceKey key,
    ServiceState state,
    long revision,
    int wanted,
    int ready,
    List<ReplicaStatus> replicas,
    List<EndpointSpec> endpoints,
    Optional<String> waitingFor,
    Optional<RolloutStatus> rollout,
    Optional<Failure> lastError,
    boolean settling,
    Optional<Failure> endpointError,
    Optional<Autoscaler.Load> load) {
  public ServiceStatus {
    replicas = List.copyOf(replicas);
    endpoints = List.copyOf(endpoints);
  }

  /** The same, leaving: what went wrong before does not matter any more. */
  ServiceStatus removing() {
    return new ServiceStatus(
        key,
        ServiceState.REMOVING,
        revision,
        wanted,
        ready,
        replicas,
        endpoints,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        settling,
        Optional.empty(),
        Optional.empty());
  }
}
