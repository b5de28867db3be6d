package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.ClusterFile;
import dev.zlayer.cluster.deploy.Desired;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.deploy.ForwardedPorts;
import dev.zlayer.cluster.deploy.NodeShares;
import dev.zlayer.cluster.schedule.HostPort;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.deployment.DeploymentStatus;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.deployment.Share;
import dev.zlayer.engine.deployment.UpRequest;
import dev.zlayer.engine.service.Failure;
import dev.zlayer.engine.service.ReplicaState;
import dev.zlayer.engine.service.ReplicaStatus;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.engine.translate.ReplicaSettings;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Rotation;
import java.net.Inet4Address;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

/** The engine of this node, as its cluster uses it. */
final class EngineShares implements NodeShares.Engine {
  private final Deployments deployments;
  private final NodeOverlay network;

  EngineShares(Deployments deployments, NodeOverlay network) {
    this.deployments = deployments;
    this.network = network;
  }

  @Override
  public Map<String, NodeShares.Applied> applied() {
    var applied = new TreeMap<String, NodeShares.Applied>();
    for (DeploymentStatus status : deployments.list()) {
      status
          .share()
          .ifPresent(
              share ->
                  applied.put(
                      status.name(),
                      new NodeShares.Applied(
                          share.revision(),
                          share.replicas(),
                          mark(share),
                          status.state() == DeploymentStatus.State.REMOVING,
                          report(status, share))));
    }
    return applied;
  }

  private Desired.Report report(DeploymentStatus status, Share share) {
    var services = new TreeMap<String, Desired.ServiceReport>();
    for (ServiceStatus service : status.services()) {
      services.put(service.key().service(), report(status, service));
    }
    return new Desired.Report(
        share.revision(), services, Optional.empty(), roles(status), Optional.of(mark(share)));
  }

  private static String mark(Share share) {
    var settings = new TreeMap<String, Map<String, Desired.Settings>>();
    share
        .settings()
        .forEach(
            (group, own) -> {
              var numbers = new TreeMap<String, Desired.Settings>();
              own.forEach(
                  (number, one) ->
                      numbers.put(number, new Desired.Settings("", one.gpus(), one.variables())));
              settings.put(group, numbers);
            });
    return new Assignment(share.revision(), share.replicas(), Optional.empty(), settings).mark();
  }

  private static Share share(Assignment assignment) {
    var settings = new TreeMap<String, Map<String, ReplicaSettings>>();
    assignment
        .settings()
        .forEach(
            (group, own) -> {
              var numbers = new TreeMap<String, ReplicaSettings>();
              own.forEach(
                  (number, one) ->
                      numbers.put(number, new ReplicaSettings(one.gpus(), one.variables())));
              settings.put(group, numbers);
            });
    return new Share(assignment.revision(), assignment.replicas(), settings);
  }

  /** Ready replicas of services with roles. */
  private static Map<String, List<Integer>> roles(DeploymentStatus status) {
    var roles = new TreeMap<String, List<Integer>>();
    for (ServiceStatus service : status.services()) {
      List<ReplicaStatus> ready = ready(status, service);
      for (ReplicaStatus replica : service.replicas()) {
        String role = replica.id().role();
        if (!role.equals(ContainerId.DEFAULT_ROLE)) {
          roles.put(
              Share.group(service.key().service(), role),
              numbers(ready.stream().filter(one -> one.id().role().equals(role)).toList()));
        }
      }
    }
    return roles;
  }

  /** Those that are what this node was given last, and work. */
  private static List<ReplicaStatus> ready(DeploymentStatus status, ServiceStatus service) {
    // the service has been told; until then it compares replicas with what it wanted before
    boolean told = service.revision() == status.revision();
    boolean rolledBack = service.rollout().flatMap(rollout -> rollout.reason()).isPresent();
    return service.replicas().stream()
        .filter(replica -> told && !rolledBack)
        .filter(replica -> replica.ready() && replica.current())
        .toList();
  }

  private static List<Integer> numbers(List<ReplicaStatus> replicas) {
    return replicas.stream().map(one -> one.id().replica()).distinct().sorted().toList();
  }

  private Desired.ServiceReport report(DeploymentStatus status, ServiceStatus service) {
    Optional<Failure> rolledBack = service.rollout().flatMap(rollout -> rollout.reason());
    Optional<Failure> failure = rolledBack.or(service::lastError);
    boolean failed =
        service.state() == ServiceState.FAILED || service.state() == ServiceState.CRASH_LOOP;
    return new Desired.ServiceReport(
        service.state().name().toLowerCase(Locale.ROOT),
        numbers(ready(status, service)),
        failed || rolledBack.isPresent(),
        failure.map(Failure::message),
        network.members(service.key()).map(EngineShares::members),
        failure
            .filter(_ -> failed && nothingServes(service))
            .filter(Failure::elsewhere)
            .map(Failure::message),
        Optional.of(
            (int)
                service.replicas().stream()
                    .filter(one -> one.current() && one.state() == ReplicaState.RUNNING)
                    .count()),
        service.load().map(load -> Desired.Load.of(load.cpu(), load.memory())));
  }

  /** Containers of an earlier revision must not end because this node cannot run the new one. */
  private static boolean nothingServes(ServiceStatus service) {
    return service.rollout().flatMap(rollout -> rollout.reason()).isEmpty()
        && service.replicas().stream().noneMatch(ReplicaStatus::ready);
  }

  /** Those that take new connections, where the others reach them. */
  private static List<Desired.Member> members(List<Rotation.Member> known) {
    return known.stream()
        .filter(member -> member.ready() && member.address() instanceof Inet4Address)
        .map(
            member ->
                new Desired.Member(
                    member.id().role(),
                    member.id().replica(),
                    member.id().generation(),
                    member.address().getHostAddress()))
        .toList();
  }

  @Override
  public Optional<String> apply(String deployment, Assignment assignment, Desired.File file)
      throws InterruptedException {
    Optional<DeploymentStatus> own = deployments.find(deployment);
    if (own.filter(status -> status.share().isEmpty()).isPresent()) {
      return Optional.of(
          "it has a deployment '%s' of its own, which is not of the cluster; remove that one or"
                  .formatted(deployment)
              + " choose another name");
    }
    if (own.isEmpty()) {
      network.require(); // else it would get addresses that other nodes do not reach
    }
    byte[] text = file.text().getBytes(StandardCharsets.UTF_8);
    try {
      network.starting(ports(deployment, assignment, text));
      var _ =
          deployments.up(
              new UpRequest(
                  Optional.of(deployment),
                  text,
                  Path.of(file.directory()),
                  OptionalLong.empty(),
                  Optional.of(share(assignment))));
      return Optional.empty();
    } catch (AgentException.InvalidSpec | AgentException.Unsupported e) {
      return Optional.of(String.valueOf(e.getMessage()));
    } finally {
      network.started();
    }
  }

  private static Map<ServiceKey, Set<HostPort>> ports(
      String deployment, Assignment assignment, byte[] text) {
    var ports = new TreeMap<ServiceKey, Set<HostPort>>();
    ClusterFile.read(deployment, text)
        .services()
        .forEach(
            (name, service) -> {
              if (assignment.count(name) > 0) {
                ports.put(new ServiceKey(deployment, name), ForwardedPorts.of(service));
              }
            });
    return ports;
  }

  @Override
  public void remove(String deployment, boolean volumes) {
    try {
      deployments.down(deployment, volumes);
    } catch (AgentException.NotFound _) {
      // removed since it was listed
    }
  }
}
