package dev.zlayer.runtime.oci;

import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.oci.config.DeviceNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** The device nodes of the host that a container sees. */
final class Devices {
  private static final Path DEV = Path.of("/dev");

  /** Every container has its own of these. */
  private static final Set<String> OWN =
      Set.of(
          "console", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr",
          "stdin", "stdout", "tty", "urandom", "zero");

  List<DeviceNode> of(SecuritySpec security) {
    return security.privileged() ? all() : security.devices().stream().map(Devices::one).toList();
  }

  private static DeviceNode one(SecuritySpec.Device device) {
    String access =
        (device.read() ? "r" : "") + (device.write() ? "w" : "") + (device.mknod() ? "m" : "");
    if (access.isEmpty()) {
      throw new AgentException.InvalidSpec(
          "device %s: say what may be done with it: r, w or m".formatted(device.path()));
    }
    return DeviceNode.read(device.path(), device.target(), access);
  }

  private static List<DeviceNode> all() {
    try (Stream<Path> paths = Files.walk(DEV)) {
      return paths
          .filter(path -> path.getNameCount() > 1 && !OWN.contains(path.getName(1).toString()))
          .filter(path -> !Files.isSymbolicLink(path))
          .filter(Devices::device)
          .map(path -> DeviceNode.read(path, path.toString(), "rwm"))
          .toList();
    } catch (IOException | UncheckedIOException e) {
      throw new AgentException.Internal("cannot list the devices of the host", e);
    }
  }

  private static boolean device(Path path) {
    return !Files.isDirectory(path) && !Files.isRegularFile(path) && readable(path);
  }

  private static boolean readable(Path path) {
    try {
      return (long) Files.getAttribute(path, "unix:rdev") != 0;
    } catch (IOException _) {
      return false; // it vanished
    }
  }
}
