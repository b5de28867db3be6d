package dev.zlayer.daemon;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.deployment.DeploymentStore;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.net.RuleSetLoop;
import dev.zlayer.host.probe.HostFacts;
import dev.zlayer.image.ImageStore;
import dev.zlayer.proxy.Proxy;
import dev.zlayer.proxy.RemoteMembers;
import dev.zlayer.proxy.ingress.Ingress;
import dev.zlayer.runtime.cni.DeploymentBridges;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.lifecycle.Identities;
import dev.zlayer.runtime.oci.Faults;
import dev.zlayer.runtime.oci.OciRuntime;
import dev.zlayer.runtime.oci.OciSettings;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What only a node has that can run Linux containers: networks, endpoints of services, the runtime.
 */
record LinuxParts(
    Networks networks,
    Proxy proxy,
    Ingress ingress,
    RemoteMembers rotation,
    DeploymentBridges bridges,
    OciRuntime oci) {
  /** What they are built on. */
  record Needs(
      Parts parts,
      ImageStore images,
      Identities identities,
      TimeSource clock,
      Supervisor supervisor) {}

  /**
   * Starts them, or says why not and goes on without: a node without root or without the programs
   * still runs WebAssembly. A node that has had Linux containers has to look after them, so there
   * it is an error.
   */
  static Optional<LinuxParts> start(AgentConfig config, Needs needs, HostFacts facts, Log log)
      throws InterruptedException {
    if (facts.obstacles().isEmpty()) {
      return Optional.of(start(config, needs));
    }
    String reasons = String.join("; ", facts.obstacles());
    if (config.ociRuntime().isPresent() || hasContainers(config.directories().containers())) {
      needs.parts().close();
      throw new AgentException.Configuration("Linux containers cannot run here: " + reasons);
    }
    log.warn("no Linux containers here", Map.of("reason", reasons));
    return Optional.empty();
  }

  /** Those of an earlier start must not be left alone without a word. */
  private static boolean hasContainers(Path directory) {
    try (Stream<Path> containers = Files.list(directory)) {
      return containers.findAny().isPresent();
    } catch (NoSuchFileException _) {
      return false;
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot read %s: %s".formatted(directory, e.getMessage()), e);
    }
  }

  private static LinuxParts start(AgentConfig config, Needs needs) throws InterruptedException {
    Parts parts = needs.parts();
    ImageStore images = needs.images();
    DataDir dirs = config.directories();
    Networks networks =
        parts.start(
            "the networks", () -> Networks.openUnfilled(Settings.networks(config), _ -> {}));
    Proxy proxy =
        parts.start(
            "the endpoints of services",
            () ->
                Proxy.open(
                    Settings.endpoints(config).withPublishers(networks::publisher), Pauses.REAL));
    Ingress ingress =
        parts.start(
            "the ingress",
            () -> Ingress.open(Settings.ingress(config), proxy, needs.clock(), needs.supervisor()));
    RuleSetLoop _ =
        parts.start(
            "the watch over the rules of the firewall",
            () ->
                RuleSetLoop.start(
                    List.of(networks::restoreRules, proxy::restoreRules), Pauses.REAL));
    networks.serveNames(proxy);
    OciRuntime oci =
        parts.start(
            "the runtime of Linux containers",
            () ->
                OciRuntime.open(
                    new OciRuntime.Parts(
                        dirs,
                        images,
                        images.snapshots(),
                        networks,
                        Settings.oci(config).withNameServers(OciSettings.NameServers.WITH_OWN),
                        InstantSource.system(),
                        Faults.NONE,
                        needs.identities())));
    proxy.containers(new StandaloneNames(networks.members(), oci));
    var rotation =
        RemoteMembers.open(ingress, dirs.endpoints().resolve("remote.json"), Pauses.REAL);
    var bridges = new DeploymentBridges(networks, proxy);
    return new LinuxParts(networks, proxy, ingress, rotation, bridges, oci);
  }

  /** Endpoints of services that were removed while no agent could forget them. */
  LinuxParts removeOrphans(DeploymentStore records, Deployments deployments)
      throws InterruptedException {
    List<ServiceKey> own =
        deployments.list().stream()
            .flatMap(deployment -> deployment.services().stream())
            .map(ServiceStatus::key)
            .toList();
    Set<ServiceKey> known = rotation.begin(own);
    if (records.later().isEmpty()) { // else whose services those are cannot be known
      proxy.retain(known);
      ingress.retain(known);
    }
    return this;
  }
}
