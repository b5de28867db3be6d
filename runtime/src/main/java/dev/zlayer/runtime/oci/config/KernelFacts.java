package dev.zlayer.runtime.oci.config;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What this host is and can do, as far as a configuration depends on it.
 *
 * @param machine as {@code uname -m} says it
 * @param capabilities the agent's own, as a bit mask
 * @param rootless whether root here is an ordinary user of the host
 * @param hardLimits the agent's own hard limits by name, -1 for unlimited
 * @param oomScore the agent's own; without SYS_RESOURCE nothing below it can be had
 * @param cgroups which hierarchy, and the limits it offers
 * @param mountOptions beyond the common ones, that the OCI runtime understands
 * @param seccomp what the operator wants instead of the default profile
 * @param init a small init program to mount into containers that want one
 * @param apparmor the profile of containers that name none; empty where the kernel confines nothing
 * @param apparmorProblem why that profile was not loaded; nobody runs without it unless asked to
 */
public record KernelFacts(
    String machine,
    String kernel,
    long capabilities,
    boolean rootless,
    Map<String, Long> hardLimits,
    int oomScore,
    Cgroup cgroups,
    Set<String> mountOptions,
    Optional<Json> seccomp,
    Optional<Path> init,
    Optional<String> apparmor,
    Optional<String> apparmorProblem) {
  private static final int SYS_RESOURCE = 24;

  public KernelFacts {
    hardLimits = Map.copyOf(hardLimits);
    mountOptions = Set.copyOf(mountOptions);
  }

  /**
   * Which kinds of limits the kernel's control groups can set here.
   *
   * @param parent below which groups are made; empty where this agent may make none
   */
  public record Cgroup(
      boolean v2,
      boolean systemd,
      boolean swap,
      boolean blockIoWeight,
      Set<String> controllers,
      Optional<String> parent) {
    public Cgroup {
      controllers = Set.copyOf(controllers);
    }

    /**
     * For what only a control group can do.
     *
     * @throws AgentException.Unsupported this agent may make none
     */
    public void require(String what) {
      if (parent.isEmpty()) {
        throw new AgentException.Unsupported(
            "%s: an agent without root has no control groups here; 'zlayer doctor' says what they need"
                .formatted(what));
      }
    }

    boolean has(String controller) {
      return controllers.contains(controller);
    }
  }

  boolean canRaiseLimits() {
    return !rootless && (capabilities >>> SYS_RESOURCE & 1) == 1;
  }
}
