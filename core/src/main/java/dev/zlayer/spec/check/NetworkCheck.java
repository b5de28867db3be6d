package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.NetworkingSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.value.NetworkMode;
import java.util.List;

/** The network mode against everything that needs a network of its own. */
final class NetworkCheck {
  private NetworkCheck() {}

  static void check(ServiceSpec service, SpecPath path, Findings findings) {
    if (!findings.clean(path.key("network_mode"))) {
      return;
    }
    NetworkingSpec networking = service.networking();
    if (networking.hostNetwork()
        && !(networking.networkMode() instanceof NetworkMode.Host
            || networking.networkMode() instanceof NetworkMode.Standard)) {
      findings.problem(path.key("host_network"), "contradicts network_mode, remove one of the two");
      return;
    }
    switch (networking.effectiveMode()) {
      case NetworkMode.Host _ -> {
        refuse(path, "port_mappings", "host", findings);
        refuseNetSysctls(service, path, findings);
      }
      case NetworkMode.None _ ->
          List.of("port_mappings", "endpoints", "dns", "extra_hosts")
              .forEach(key -> refuse(path, key, "none", findings));
      case NetworkMode.OfContainer _ -> {
        List.of("port_mappings", "dns", "extra_hosts", "hostname")
            .forEach(key -> refuse(path, key, "container", findings));
        refuseNetSysctls(service, path, findings);
      }
      case NetworkMode.Standard _, NetworkMode.Bridge _ -> {}
    }
  }

  private static void refuse(SpecPath path, String key, String mode, Findings findings) {
    if (findings.written(path.key(key))) {
      findings.problem(
          path.key(key),
          "does not go with network_mode %s, remove it or change the mode".formatted(mode));
    }
  }

  private static void refuseNetSysctls(ServiceSpec service, SpecPath path, Findings findings) {
    for (String name : service.security().sysctls().keySet()) {
      if (name.startsWith("net.")) {
        findings.problem(
            path.key("sysctls").key(name),
            "would change a network that is not the container's own, remove it");
      }
    }
  }
}
