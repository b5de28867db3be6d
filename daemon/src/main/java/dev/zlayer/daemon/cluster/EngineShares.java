package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.Desired;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.deploy.NodeShares;
import dev.zlayer.engine.deployment.DeploymentStatus;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.deployment.Share;
import dev.zlayer.engine.deployment.UpRequest;
import dev.zlayer.engine.service.Failure;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.engine.service.ServiceStatus;
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
    return new Desired.Report(share.revision(), services, Optional.empty());
  }

  private Desired.ServiceReport report(DeploymentStatus status, ServiceStatus service) {
    // the service has been told; until then it compares replicas with what it wanted before
    boolean told = service.revision() == status.revision();
    Optional<Failure> rolledBack = service.rollout().flatMap(rollout -> rollout.reason());
    List<Integer> ready =
        service.replicas().stream()
            .filter(replica -> told && rolledBack.isEmpty())
            .filter(replica -> replica.ready() && replica.current())
            .map(replica -> replica.id().replica())
            .distinct()
            .sorted()
            .toList();
    boolean failed =
        service.state() == ServiceState.FAILED || service.state() == ServiceState.CRASH_LOOP;
    return new Desired.ServiceReport(
        service.state().name().toLowerCase(Locale.ROOT),
        ready,
        failed || rolledBack.isPresent(),
        rolledBack.or(service::lastError).map(Failure::message),
        network.members(service.key()).map(EngineShares::members));
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
  public Optional<String> apply(String deployment, Assignment assignment, Desired.File file) {
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
    try {
      var _ =
          deployments.up(
              new UpRequest(
                  Optional.of(deployment),
                  file.text().getBytes(StandardCharsets.UTF_8),
                  Path.of(file.directory()),
                  OptionalLong.empty(),
                  Optional.of(new Share(assignment.revision(), assignment.replicas()))));
      return Optional.empty();
    } catch (AgentException.InvalidSpec | AgentException.Unsupported e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
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
