package dev.zlayer.runtime.oci.config;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.IdRange;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Kernel settings that belong to a namespace of the container; others would change the host. */
final class Sysctls {
  private static final Set<String> IPC =
      Set.of(
          "kernel.msgmax",
          "kernel.msgmnb",
          "kernel.msgmni",
          "kernel.sem",
          "kernel.shmall",
          "kernel.shmmax",
          "kernel.shmmni",
          "kernel.shm_rmid_forced");

  private Sysctls() {}

  /** With {@code ownUsers}, groups have to be among its own. */
  static Map<String, String> of(ContainerSpec spec, boolean ownUsers) {
    boolean ownNetwork =
        switch (spec.network().mode()) {
          case NetworkSpec.Mode.Bridge _, NetworkSpec.Mode.None _ -> true;
          case NetworkSpec.Mode.Host _, NetworkSpec.Mode.Shared _ -> false;
        };
    var result = new TreeMap<String, String>();
    if (ownNetwork) {
      // a namespace of its own has no ports to protect from its own users
      result.put("net.ipv4.ip_unprivileged_port_start", "0");
      result.put(
          "net.ipv4.ping_group_range", "0 " + (ownUsers ? IdRange.SIZE - 1 : Integer.MAX_VALUE));
    }
    spec.security()
        .sysctls()
        .forEach(
            (name, value) -> {
              check(name, spec.security(), ownNetwork);
              result.put(name, value);
            });
    return result;
  }

  private static void check(String name, SecuritySpec security, boolean ownNetwork) {
    boolean ipc = IPC.contains(name) || name.startsWith("fs.mqueue.");
    if (name.startsWith("net.")) {
      if (!ownNetwork) {
        throw new AgentException.InvalidSpec(
            "sysctl %s: the container has no network of its own to set it in".formatted(name));
      }
    } else if (ipc) {
      if (!(security.ipc() instanceof SecuritySpec.Namespace.Private)) {
        throw new AgentException.InvalidSpec(
            "sysctl %s: the container has no ipc namespace of its own to set it in"
                .formatted(name));
      }
    } else {
      throw new AgentException.InvalidSpec(
          "sysctl %s would change the whole host: only net.*, fs.mqueue.* and the ipc settings of"
                  .formatted(name)
              + " kernel.* belong to a container");
    }
  }
}
