package dev.zlayer.host.probe;

import dev.zlayer.host.linux.CgroupMode;
import dev.zlayer.oci.Platform;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What this host is and has.
 *
 * @param root whether this process runs as root
 * @param overlay whether the kernel offers overlay file systems
 * @param parts every program zlayer can use, the absent ones too
 */
public record HostFacts(
    String kernel,
    Platform platform,
    CgroupMode cgroups,
    boolean root,
    boolean overlay,
    long memoryBytes,
    int cpus,
    List<HostPart> parts) {
  /** One of them is enough; the first that works is used. */
  public static final List<String> OCI_RUNTIMES = List.of("crun", "youki", "runc");

  /** Without any of these no container runs. */
  private static final Set<String> NEEDED = Set.of("conmon", "bridge", "host-local", "nft");

  public HostFacts {
    parts = List.copyOf(parts);
  }

  public Optional<HostPart> part(String name) {
    return parts.stream().filter(part -> part.name().equals(name)).findFirst();
  }

  public boolean has(String name) {
    return part(name).map(HostPart::present).orElse(false);
  }

  /** Why an agent in this process cannot run containers, each with its remedy. */
  public List<String> obstacles() {
    return obstacles(
        List.of(
            "not running as root: start the agent with sudo, or install what rootless containers"
                + " need ('zlayer doctor' lists it)"));
  }

  /**
   * Why containers cannot run here, each with its remedy; empty when they can.
   *
   * @param withoutRoot what an ordinary user lacks for containers of their own
   */
  public List<String> obstacles(List<String> withoutRoot) {
    var found = new ArrayList<String>();
    if (!root) {
      found.addAll(withoutRoot);
    }
    if (cgroups == CgroupMode.NONE) {
      found.add("no control groups are mounted: mount cgroup2 on /sys/fs/cgroup");
    }
    if (!overlay) {
      found.add("the kernel has no overlay file system: modprobe overlay");
    }
    if (OCI_RUNTIMES.stream().noneMatch(this::has)) {
      found.add("no oci runtime (%s): apt install runc".formatted(String.join(", ", OCI_RUNTIMES)));
    }
    for (HostPart part : parts) {
      if (NEEDED.contains(part.name()) && !part.present()) {
        found.add("no %s to %s: %s".formatted(part.name(), part.purpose(), part.advice()));
      }
    }
    return List.copyOf(found);
  }
}
