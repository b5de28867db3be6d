package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Which control groups this host mounts and what they can bound.
 *
 * @param controllers by the names of their version, such as {@code memory}
 * @param parent below which groups of containers can be made; empty where this user may make none
 */
public record CgroupSupport(
    boolean v2,
    boolean systemd,
    boolean swap,
    boolean blockIoWeight,
    Set<String> controllers,
    Optional<String> parent) {
  private static final Path ROOT = Path.of("/sys/fs/cgroup");
  private static final Optional<String> OF_ROOT = Optional.of("/zlayer");

  /** Set once, when an agent begins that was given one. */
  private static volatile Optional<String> scope = Optional.empty();

  public CgroupSupport {
    controllers = Set.copyOf(controllers);
  }

  /** Where every system, that inside a container too, expects them. */
  public static Path mountPoint() {
    return ROOT;
  }

  /** From now on groups are made below that one, which was given to an ordinary user. */
  public static void within(String group) {
    scope = Optional.of(group);
  }

  /** Whether there is such a group of version 2. */
  public static boolean exists(String group) {
    return Files.exists(Path.of(ROOT + group).resolve("cgroup.controllers"));
  }

  public static boolean missing(String group) {
    return !exists(group);
  }

  /** The group of version 2 that this process is in. */
  public static String own() throws IOException {
    return Delegation.own();
  }

  /** Moves another process of this user to where the agent is, below a group that was given. */
  public static void join(String group, long process) throws IOException {
    Delegation.join(group, process);
  }

  public static CgroupSupport read() throws IOException {
    Path offered = ROOT.resolve("cgroup.controllers");
    if (UserNamespaces.inside()) {
      return Delegation.find(scope)
          .map(
              found ->
                  new CgroupSupport(
                      true,
                      false,
                      found.controllers().contains("memory"),
                      found.controllers().contains("io"),
                      found.controllers(),
                      Optional.of(found.parent())))
          .orElseGet(
              () ->
                  new CgroupSupport(
                      Files.exists(offered), false, false, false, Set.of(), Optional.empty()));
    }
    if (Files.exists(offered)) {
      var controllers = Set.copyOf(List.of(Files.readString(offered).strip().split(" ", -1)));
      return new CgroupSupport(
          true,
          Files.isDirectory(Path.of("/run/systemd/system")),
          controllers.contains("memory") && Files.exists(Path.of("/proc/swaps")),
          controllers.contains("io"),
          controllers,
          OF_ROOT);
    }
    return new CgroupSupport(
        false,
        false,
        Files.exists(ROOT.resolve("memory/memory.memsw.limit_in_bytes")),
        Files.exists(ROOT.resolve("blkio/blkio.weight"))
            || Files.exists(ROOT.resolve("blkio/blkio.bfq.weight")),
        Cgroups.detect().controllers(),
        OF_ROOT);
  }
}
