package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.port.Container;
import java.util.Set;

/** What the operator lets containers have that reaches beyond them; {@code docker_allow}. */
record DockerAllow(boolean privileged, boolean hostMounts, boolean hostNamespaces) {
  private static final String ALL = "privileged,host_mounts,host_namespaces";

  static DockerAllow of(String setting) {
    Set<String> words = Set.of(setting.split(",", -1));
    return new DockerAllow(
        words.contains("privileged"),
        words.contains("host_mounts"),
        words.contains("host_namespaces"));
  }

  /** Whoever may use the socket is root of this host anyway. */
  private boolean everything() {
    return privileged && hostMounts && hostNamespaces;
  }

  /**
   * Refuses what would give a client more than it may give to containers of its own: to run a
   * process in a container, to read or write its files, to share its namespaces or its volumes.
   */
  void requireEntry(Container container) {
    if (everything()) {
      return;
    }
    if (!StandaloneContainers.standalone(container.id())) {
      requireDeployments("container " + ContainerNames.of(container));
    }
    require(container.spec());
    if (container.spec().fileSystem().mounts().stream().anyMatch(Mount.Bind.class::isInstance)) {
      requireHostMounts();
    }
  }

  /** Refuses what belongs to a deployment or a job, as they have what their files give them. */
  void requireDeployments(String what) {
    if (!everything()) {
      throw DockerError.forbidden(
          "%s belongs to a deployment or a job and is closed to this socket: the operator can set docker_allow to %s"
              .formatted(what, ALL));
    }
  }

  /** Whether {@link #requireEntry} would let it pass. */
  boolean enters(Container container) {
    try {
      requireEntry(container);
      return true;
    } catch (DockerError _) {
      return false;
    }
  }

  private static DockerError forbidden(String what, String word) {
    return DockerError.forbidden(
        "%s are forbidden on this socket: the operator can add %s to docker_allow"
            .formatted(what, word));
  }

  void requireHostMounts() {
    if (!hostMounts) {
      throw forbidden("mounts of host paths", "host_mounts");
    }
  }

  void requirePrivileged() {
    if (!privileged) {
      throw forbidden("privileged containers and processes", "privileged");
    }
  }

  void requireHostNamespaces() {
    if (!hostNamespaces) {
      throw forbidden("namespaces of the host", "host_namespaces");
    }
  }

  /** Refuses a container that has more than it may have. */
  void require(ContainerSpec spec) {
    SecuritySpec security = spec.security();
    boolean powers =
        security.privileged()
            || !security.devices().isEmpty()
            || security.deviceRules().isPresent()
            || !security.addCapabilities().isEmpty()
            || !(security.seccomp() instanceof SecuritySpec.Seccomp.Default)
            || security.apparmor().isPresent()
            || spec.resources().cgroupParent().isPresent()
            || spec.resources().oomScoreAdjust().orElse(0) < 0;
    if (powers) {
      requirePrivileged();
    }
    boolean namespaces =
        spec.network().mode() instanceof NetworkSpec.Mode.Host
            || security.uts().isPresent()
            || security.users().filter(SecuritySpec.Users.HOST::equals).isPresent()
            || security.pid() instanceof SecuritySpec.Namespace.Host
            || security.ipc() instanceof SecuritySpec.Namespace.Host;
    if (namespaces) {
      requireHostNamespaces();
    }
  }
}
