package dev.zlayer.runtime.oci.config;

import dev.zlayer.container.ContainerSpec;
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
    String cgroupPath,
    HostFacts host) {
  public BundleInput {
    command = List.copyOf(command);
    binds = List.copyOf(binds);
    devices = List.copyOf(devices);
  }

  /** A file or directory of the host that appears inside. */
  public record Bind(Path source, String target, boolean readOnly) {}

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
