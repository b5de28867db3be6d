package dev.zlayer.daemon;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.probe.HostFacts;
import dev.zlayer.image.ImageStore;
import dev.zlayer.proxy.Proxy;
import dev.zlayer.runtime.cni.DeploymentBridges;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.oci.Faults;
import dev.zlayer.runtime.oci.OciRuntime;
import dev.zlayer.task.Pauses;
import java.nio.file.Files;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;

/** What only a node has that can run Linux containers: networks, doors of services, the runtime. */
record LinuxParts(Networks networks, Proxy proxy, DeploymentBridges bridges, OciRuntime oci) {
  /**
   * Starts them, or says why not and goes on without: a node without root or without the programs
   * still runs WebAssembly. A node that has had Linux containers has to look after them, so there
   * it is an error.
   */
  static Optional<LinuxParts> start(
      AgentConfig config, Parts parts, ImageStore images, HostFacts facts, Log log)
      throws InterruptedException {
    if (facts.obstacles().isEmpty()) {
      return Optional.of(start(config, parts, images));
    }
    String reasons = String.join("; ", facts.obstacles());
    if (config.ociRuntime().isPresent() || Files.exists(config.directories().ociState())) {
      parts.close();
      throw new AgentException.Configuration("Linux containers cannot run here: " + reasons);
    }
    log.warn("no Linux containers here", Map.of("reason", reasons));
    return Optional.empty();
  }

  private static LinuxParts start(AgentConfig config, Parts parts, ImageStore images)
      throws InterruptedException {
    DataDir dirs = config.directories();
    Networks networks = parts.start("the networks", () -> Networks.open(Settings.networks(config)));
    Proxy proxy =
        parts.start("the doors of services", () -> Proxy.open(Settings.doors(config), Pauses.REAL));
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
                        Settings.oci(config),
                        InstantSource.system(),
                        Faults.NONE)));
    return new LinuxParts(networks, proxy, new DeploymentBridges(networks, proxy), oci);
  }
}
