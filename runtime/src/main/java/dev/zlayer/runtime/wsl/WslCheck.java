package dev.zlayer.runtime.wsl;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import java.util.List;

/** Refuses what cannot be given to a container in a distribution, with the reason. Pure. */
final class WslCheck {
  private WslCheck() {}

  static void check(ContainerSpec spec) {
    network(spec.network());
    refuse(
        spec.process().stdin(),
        "standard input: a socket of the distribution cannot be joined from Windows");
    refuse(
        spec.security().users().filter(SecuritySpec.Users.PRIVATE::equals).isPresent(),
        "users of its own: they are made on Linux nodes only");
    refuse(
        spec.logs().inMemory(),
        "logs in memory: Windows reads them from its disk; write logs.destination: disk");
    refuse(spec.security().uts().isPresent(), "the host name of the host");
    refuse(spec.security().deviceRules().isPresent(), "rules of devices");
    refuse(
        spec.security().devices().stream().anyMatch(device -> device.inside().isPresent()),
        "devices under another path");
    for (SecuritySpec.Namespace namespace : List.of(spec.security().pid(), spec.security().ipc())) {
      refuse(
          namespace instanceof SecuritySpec.Namespace.Shared,
          "another container's namespaces: share them on a Linux node");
    }
  }

  /** What somebody wrote because it should be reached cannot be left out silently. */
  private static void network(NetworkSpec network) {
    String remedy = "give it the network 'host', whose ports Windows shows at localhost, or 'none'";
    switch (network.mode()) {
      case NetworkSpec.Mode.Host _, NetworkSpec.Mode.None _ -> {}
      case NetworkSpec.Mode.Bridge _ -> throw refused("a bridge network: " + remedy);
      case NetworkSpec.Mode.Shared _ -> throw refused("another container's network: " + remedy);
    }
    refuse(!network.ports().isEmpty(), "published ports: " + remedy);
  }

  private static void refuse(boolean wrong, String what) {
    if (wrong) {
      throw refused(what);
    }
  }

  private static AgentException refused(String what) {
    return new AgentException.Unsupported("runtime 'wsl': " + what);
  }
}
