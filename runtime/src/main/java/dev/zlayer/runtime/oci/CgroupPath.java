package dev.zlayer.runtime.oci;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.UnixPath;
import dev.zlayer.runtime.oci.config.KernelFacts;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Where a container's control group is.
 *
 * @param oci as config.json wants it; empty where this agent may make no groups
 * @param directory below the root of each hierarchy
 */
public record CgroupPath(Optional<String> oci, String directory) {
  private static final String SLICE = "system.slice";
  private static final String PREFIX = "zlayer";

  /** {@code tag} tells apart the agents of one machine, which may use the same names. */
  public static CgroupPath of(
      String tag, String name, Optional<String> parent, KernelFacts.Cgroup host) {
    String leaf = tag + "-" + name;
    if (host.parent().isEmpty()) {
      if (parent.isPresent()) {
        throw new AgentException.Unsupported(
            "cgroup parent: an agent without root has no control groups here");
      }
      return new CgroupPath(Optional.empty(), "/" + leaf);
    }
    if (!host.systemd()) {
      String path = parent.map(CgroupPath::directory).orElse(host.parent().get()) + "/" + leaf;
      return new CgroupPath(Optional.of(path), path);
    }
    String slice = parent.orElse(SLICE);
    if (!slice.matches("[A-Za-z0-9:_.@-]+\\.slice")) {
      throw new AgentException.InvalidSpec(
          "cgroup parent '%s': systemd manages the groups here, so name a slice such as my.slice"
              .formatted(slice));
    }
    return new CgroupPath(
        Optional.of(slice + ":" + PREFIX + ":" + leaf),
        "/" + slice + "/" + PREFIX + "-" + leaf + ".scope");
  }

  private static String directory(String parent) {
    Path path = Path.of("/").resolve(parent);
    if (parent.isBlank() || !path.equals(path.normalize()) || path.getNameCount() == 0) {
      throw new AgentException.InvalidSpec(
          "cgroup parent '%s' has to be a path such as /my/group".formatted(parent));
    }
    return UnixPath.text(path);
  }
}
