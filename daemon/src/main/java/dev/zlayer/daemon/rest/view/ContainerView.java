package dev.zlayer.daemon.rest.view;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.daemon.standalone.DisplayName;
import dev.zlayer.engine.health.HealthState;
import dev.zlayer.engine.health.HealthStatus;
import dev.zlayer.engine.service.ReplicaStatus;
import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.oci.Digest;
import java.net.InetAddress;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A container in a listing.
 *
 * @param id what the runtime calls it
 * @param name for people: its own for a standalone one, else {@code deployment/service/replica}
 * @param state created, prepared, running, paused, stopping, exited or unknown
 * @param health of a replica that is checked: starting, healthy or unhealthy
 * @param endpoints of its service that forward to it
 * @param node in a cluster, the one that it is on
 */
public record ContainerView(
    String id,
    String name,
    String deployment,
    String service,
    String role,
    int replica,
    long generation,
    String image,
    Optional<Digest> imageDigest,
    List<String> command,
    String state,
    Optional<HealthState> health,
    Optional<OutcomeView> exit,
    Optional<String> problem,
    Instant created,
    Optional<Instant> started,
    OptionalLong pid,
    Optional<InetAddress> ip,
    Optional<InetAddress> ipv6,
    List<PortView> ports,
    List<DeploymentView.EndpointView> endpoints,
    int restarts,
    String runtime,
    Map<String, String> labels,
    Optional<String> node) {
  /** A published port. */
  public record PortView(InetAddress hostIp, int hostPort, int containerPort, String protocol) {
    static PortView of(ContainerDetails.PortBinding port) {
      return new PortView(
          port.hostIp(),
          port.hostPort(),
          port.containerPort(),
          port.protocol().name().toLowerCase(Locale.ROOT));
    }

    public static List<PortView> of(List<ContainerDetails.PortBinding> ports) {
      return ports.stream().map(PortView::of).toList();
    }
  }

  /**
   * What its service knows of a replica.
   *
   * @param restarts of this replica, whatever containers it had
   */
  public record Replica(
      Optional<HealthState> health, List<DeploymentView.EndpointView> endpoints, int restarts) {
    public static Replica of(ServiceStatus service, ReplicaStatus replica) {
      return new Replica(
          replica.health().map(HealthStatus::state),
          service.endpoints().stream()
              .filter(one -> one.targetRole().map(replica.id().role()::equals).orElse(true))
              .map(DeploymentView.EndpointView::of)
              .toList(),
          replica.restarts());
    }
  }

  public static ContainerView of(ContainerDetails details, Optional<Replica> replica) {
    ContainerId id = details.id();
    ContainerStatus status = details.status();
    return new ContainerView(
        id.runtimeName(),
        name(details),
        id.deployment(),
        id.service(),
        id.role(),
        id.replica(),
        id.generation(),
        details.spec().image().familiar(),
        details.imageDigest(),
        details.command(),
        status.phase().name().toLowerCase(Locale.ROOT),
        replica.flatMap(Replica::health),
        status instanceof ContainerStatus.Exited(var outcome)
            ? Optional.of(OutcomeView.of(outcome))
            : Optional.empty(),
        status instanceof ContainerStatus.Unknown(String reason)
            ? Optional.of(reason)
            : Optional.empty(),
        details.createdAt(),
        started(status),
        pid(status),
        details.ip(),
        details.ipv6(),
        PortView.of(details.ports()),
        replica.map(Replica::endpoints).orElse(List.of()),
        replica.map(Replica::restarts).orElseGet(details::restarts),
        details.runtime(),
        details.spec().labels(),
        Optional.empty());
  }

  private static String name(ContainerDetails details) {
    return DisplayName.of(details);
  }

  private static Optional<Instant> started(ContainerStatus status) {
    return switch (status) {
      case ContainerStatus.Running running -> Optional.of(running.startedAt());
      case ContainerStatus.Paused paused -> Optional.of(paused.startedAt());
      case ContainerStatus.Stopping stopping -> Optional.of(stopping.startedAt());
      case ContainerStatus.Exited(var outcome) -> outcome.startedAt();
      case ContainerStatus.Created _,
          ContainerStatus.Prepared _,
          ContainerStatus.Unknown _,
          ContainerStatus.Removed _ ->
          Optional.empty();
    };
  }

  private static OptionalLong pid(ContainerStatus status) {
    return switch (status) {
      case ContainerStatus.Running running -> running.pid();
      case ContainerStatus.Paused paused -> paused.pid();
      case ContainerStatus.Prepared prepared -> prepared.pid();
      default -> OptionalLong.empty();
    };
  }
}
