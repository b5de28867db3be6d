package dev.zlayer.daemon.rest.view;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.cron.CronStatus;
import dev.zlayer.engine.deployment.AutoUpdateStatus;
import dev.zlayer.engine.deployment.DeploymentStatus;
import dev.zlayer.engine.deployment.Revision;
import dev.zlayer.engine.deployment.Share;
import dev.zlayer.engine.health.HealthStatus;
import dev.zlayer.engine.service.Failure;
import dev.zlayer.engine.service.ReplicaStatus;
import dev.zlayer.engine.service.RolloutStatus;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.oci.Digest;
import dev.zlayer.proxy.ingress.Ingress;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.network.EndpointSpec;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** A deployment with everything that belongs to it. */
public record DeploymentView(
    String name,
    String state,
    long revision,
    Instant created,
    Instant updated,
    Path directory,
    @Doc("In a cluster: the node, of a deployment that is of one node alone.")
        Optional<String> node,
    @Doc("What of it runs here, when the rest runs on other nodes of a cluster.")
        Optional<Share> share,
    List<ServiceView> services,
    List<JobView> jobs,
    List<DependencyView> dependencies,
    Optional<Failure> problem) {
  public DeploymentView {
    dependencies = List.copyOf(dependencies);
    services = List.copyOf(services);
    jobs = List.copyOf(jobs);
  }

  public static DeploymentView of(DeploymentStatus status) {
    return new DeploymentView(
        status.name(),
        state(status),
        status.revision(),
        status.createdAt(),
        status.updatedAt(),
        status.directory(),
        Optional.empty(),
        status.share(),
        status.services().stream()
            .map(service -> ServiceView.of(service, status.autoUpdates()))
            .toList(),
        status.jobs().stream().map(JobView::of).toList(),
        status.dependencies().stream().map(DependencyView::of).toList(),
        status.problem());
  }

  /**
   * One service or job waits for another one.
   *
   * @param condition started, healthy, ready or completed
   */
  public record DependencyView(String from, String to, String condition) {
    static DependencyView of(DeploymentStatus.Dependency dependency) {
      return new DependencyView(dependency.from(), dependency.to(), lower(dependency.condition()));
    }
  }

  /** One whose services were all stopped by somebody does not run. */
  private static String state(DeploymentStatus status) {
    boolean stopped =
        status.state() == DeploymentStatus.State.RUNNING
            && !status.services().isEmpty()
            && status.services().stream()
                .allMatch(service -> service.state() == ServiceState.STOPPED);
    return stopped ? "stopped" : lower(status.state());
  }

  private static String lower(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  /** A service. */
  public record ServiceView(
      String name,
      String state,
      long revision,
      int wanted,
      int ready,
      List<ReplicaView> replicas,
      List<EndpointView> endpoints,
      Optional<String> waitingFor,
      Optional<RolloutStatus> rollout,
      Optional<Failure> lastError,
      Optional<AutoUpdateStatus> autoUpdate,
      @Doc("What its routes carry; not in lists of deployments.") Optional<TrafficView> traffic) {
    public ServiceView {
      replicas = List.copyOf(replicas);
      endpoints = List.copyOf(endpoints);
    }

    public static ServiceView of(ServiceStatus status, Map<String, AutoUpdateStatus> updates) {
      return of(status, status.replicas().stream().map(ReplicaView::of).toList(), updates);
    }

    /** For progress: a thousand replicas are a thousand changes, each with all of them. */
    public static ServiceView withoutReplicas(ServiceStatus status) {
      return of(status, List.of(), Map.of());
    }

    private static ServiceView of(
        ServiceStatus status, List<ReplicaView> replicas, Map<String, AutoUpdateStatus> updates) {
      return new ServiceView(
          status.key().service(),
          lower(status.state()),
          status.revision(),
          status.wanted(),
          status.ready(),
          replicas,
          status.endpoints().stream().map(EndpointView::of).toList(),
          status.waitingFor(),
          status.rollout(),
          status.lastError(),
          Optional.ofNullable(updates.get(status.key().service())),
          Optional.empty());
    }

    private ServiceView with(Optional<TrafficView> carried) {
      return new ServiceView(
          name,
          state,
          revision,
          wanted,
          ready,
          replicas,
          endpoints,
          waitingFor,
          rollout,
          lastError,
          autoUpdate,
          carried);
    }
  }

  /** Requests of a service that the ingress serves. */
  @Doc("Requests of a service that the ingress serves.")
  public record TrafficView(
      @Doc("In the last second.") long requestsPerSecond,
      @Doc("In the last 5 minutes, as far as the access log reaches.") long requests,
      @Doc("Of these, responses with a status from 500 on.") long errors,
      @Doc("Until half of these responses were sent.") long p50Millis,
      long p95Millis,
      long p99Millis) {
    static TrafficView of(Ingress.Recent recent) {
      Ingress.Latency latency = recent.latency();
      return new TrafficView(
          recent.perSecond(),
          latency.requests(),
          latency.errors(),
          latency.p50(),
          latency.p95(),
          latency.p99());
    }
  }

  /** The same with what the ingress carries. */
  public DeploymentView with(Map<ServiceKey, Ingress.Recent> recent) {
    List<ServiceView> carried =
        services.stream()
            .map(
                service ->
                    service.with(
                        Optional.ofNullable(recent.get(new ServiceKey(name, service.name())))
                            .map(TrafficView::of)))
            .toList();
    return new DeploymentView(
        name,
        state,
        revision,
        created,
        updated,
        directory,
        node,
        share,
        carried,
        jobs,
        dependencies,
        problem);
  }

  /** An endpoint of a service. */
  public record EndpointView(
      String name, String protocol, int port, int targetPort, String expose) {
    static EndpointView of(EndpointSpec spec) {
      return new EndpointView(
          spec.name(),
          lower(spec.protocol()),
          spec.port(),
          spec.containerPort(),
          lower(spec.expose()));
    }
  }

  /** A replica. */
  public record ReplicaView(
      String id,
      String container,
      @Doc("In a cluster: the node that it is on.") Optional<String> node,
      String role,
      int replica,
      String state,
      long revision,
      Optional<HealthStatus> health,
      boolean ready,
      int restarts,
      String image,
      Optional<Digest> imageDigest,
      Optional<InetAddress> ip,
      List<ContainerView.PortView> ports,
      Optional<Instant> started,
      Optional<Instant> nextTry,
      Optional<Failure> lastError) {
    static ReplicaView of(ReplicaStatus status) {
      return new ReplicaView(
          status.id().path(),
          status.id().runtimeName(),
          Optional.empty(),
          status.id().role(),
          status.id().replica(),
          lower(status.state()),
          status.revision(),
          status.health(),
          status.ready(),
          status.restarts(),
          status.image(),
          status.imageDigest(),
          status.address(),
          ContainerView.PortView.of(status.ports()),
          status.startedAt(),
          status.nextTry(),
          status.lastError());
    }
  }

  /** A job or a schedule. */
  public record JobView(
      String name,
      Optional<CronStatus> cron,
      Optional<ExecutionView> last,
      Optional<String> waitingFor,
      Optional<Failure> lastError) {
    static JobView of(DeploymentStatus.JobStatus status) {
      return new JobView(
          status.key().name(),
          status.cron(),
          status.last().map(ExecutionView::of),
          status.waitingFor(),
          status.lastError());
    }
  }

  /** A file as it once was wanted. */
  public record RevisionView(long revision, Instant time, String reason, Path directory) {
    public static RevisionView of(Revision revision) {
      return new RevisionView(
          revision.number(), revision.at(), revision.reason(), revision.directory());
    }
  }
}
