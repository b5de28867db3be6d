package dev.zlayer.runtime.oci.config;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.IdRange;
import dev.zlayer.container.Mount;
import dev.zlayer.port.ImageDetails;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Everything config.json is made from.
 *
 * @param network the namespace to join; without it, and not the host's, the OCI runtime makes one
 * @param sharedMemory what appears as /dev/shm
 * @param binds resolved mounts of files and directories of the host, in the order to mount
 * @param devices device nodes to show inside, with what may be done to them
 * @param users of its own; those of the host when absent
 */
public record BundleInput(
    ContainerSpec spec,
    ImageDetails.RunConfig image,
    List<String> command,
    User user,
    Path root,
    String hostname,
    boolean hostNetwork,
    Optional<Path> network,
    Path sharedMemory,
    List<Bind> binds,
    List<DeviceNode> devices,
    Extra extra,
    Optional<Users> users,
    Optional<String> cgroupPath,
    KernelFacts host) {
  public BundleInput {
    command = List.copyOf(command);
    binds = List.copyOf(binds);
    devices = List.copyOf(devices);
  }

  /**
   * A file or directory of the host that appears inside.
   *
   * @param own its owners on the disk are users of the container, not of the host
   * @param propagation of mounts that are made below it later
   * @param restrictions further options
   */
  public record Bind(
      Path source,
      String target,
      boolean readOnly,
      boolean own,
      Mount.Propagation propagation,
      List<String> restrictions) {
    public Bind {
      restrictions = List.copyOf(restrictions);
    }

    public Bind(Path source, String target, boolean readOnly, boolean own) {
      this(source, target, readOnly, own, Mount.Propagation.RPRIVATE, List.of());
    }

    public Bind(Path source, String target, boolean readOnly) {
      this(source, target, readOnly, false);
    }

    /** The same from elsewhere. */
    public Bind from(Path other, List<String> restrictions) {
      boolean locked = readOnly || restrictions.contains("ro");
      return new Bind(other, target, locked, own, propagation, restrictions);
    }

    /** The same with another propagation. */
    public Bind with(Mount.Propagation other) {
      return new Bind(source, target, readOnly, own, other, restrictions);
    }
  }

  /** A user namespace that exists, and what the numbers in it are on the host. */
  public record Users(IdRange ids, Path namespace) {}

  /** What GPU wiring adds: variables, further mounts and hooks as OCI knows them. */
  public record Extra(Map<String, String> env, List<Bind> binds, List<Hook> hooks) {
    public static final Extra NONE = new Extra(Map.of(), List.of(), List.of());

    public Extra {
      env = Map.copyOf(env);
      binds = List.copyOf(binds);
      hooks = List.copyOf(hooks);
    }
  }

  /** A program that the OCI runtime runs at a point such as {@code createContainer}. */
  public record Hook(String point, String path, List<String> args, List<String> env) {}
}
