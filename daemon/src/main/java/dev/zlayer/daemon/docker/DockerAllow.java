package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.SecuritySpec;
import java.util.Set;

/** What the operator lets containers have that reaches beyond them; {@code docker_allow}. */
record DockerAllow(boolean privileged, boolean hostMounts, boolean hostNamespaces) {
  static DockerAllow of(String setting) {
    Set<String> words = Set.of(setting.split(",", -1));
    return new DockerAllow(
        words.contains("privileged"),
        words.contains("host_mounts"),
        words.contains("host_namespaces"));
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
            || security.seccomp() instanceof SecuritySpec.Seccomp.Unconfined
            || security.apparmor().filter("unconfined"::equals).isPresent();
    if (powers) {
      requirePrivileged();
    }
    boolean namespaces =
        spec.network().mode() instanceof NetworkSpec.Mode.Host
            || security.uts().isPresent()
            || security.pid() instanceof SecuritySpec.Namespace.Host
            || security.ipc() instanceof SecuritySpec.Namespace.Host;
    if (namespaces) {
      requireHostNamespaces();
    }
  }
}
