package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.engine.health.HealthStatus;
import dev.zlayer.oci.Digest;
import java.net.InetAddress;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * One replica, as it is shown.
 *
 * @param id its container, or the one it will have next
 * @param revision the revision of the deployment it was made from; 0 when not known
 * @param ready whether it takes traffic
 * @param current whether it is as the service wants it now, whatever revision it was made from
 * @param restarts how often it was made anew because its process ended or was unhealthy
 * @param startedAt when its process began; its age counts from here
 * @param nextTry when it will be started, while it waits
 */
public record ReplicaStatus(
    ContainerId id,
    ReplicaState state,
    long revision,
    Optional<HealthStatus> health,
    boolean ready,
    boolean current,
    int restarts,
    String image,
    Optional<Digest> imageDigest,
    Optional<InetAddress> address,
    List<ContainerDetails.PortBinding> ports,
    Optional<Instant> startedAt,
    Optional<Instant> nextTry,
    Optional<Failure> lastError) {
  public ReplicaStatus {
    ports = List.copyOf(ports);
  }
}
