package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.runtime.cni.NetworkLeaks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** What a runtime on a directory has left on this host. */
final class Leaks {
  private final Path directory;
  private final DataDir dirs;

  Leaks(Path directory) {
    this.directory = directory;
    this.dirs = DataDir.under(directory);
  }

  /** Fails, naming it, when anything is left of any container. */
  void assertNone() throws Exception {
    Awaitility.await("processes end").untilAsserted(() -> assertThat(processes()).isEmpty());
    assertThat(mounts()).as("mounts").isEmpty();
    assertThat(cgroups()).as("control groups").isEmpty();
    assertThat(entries(dirs.containers())).as("container directories").isEmpty();
    assertThat(entries(dirs.snapshots())).as("snapshots").isEmpty();
    assertThat(entries(dirs.ociState())).as("state of the OCI runtime").isEmpty();
    assertThat(entries(dirs.volumes().resolve(".anonymous"))).as("volumes").isEmpty();
    new NetworkLeaks(Stage.networks(directory)).assertNone();
  }

  /** Every process that has to do with this directory. */
  List<String> processes() {
    return ProcessHandle.allProcesses()
        .filter(process -> process.pid() != ProcessHandle.current().pid())
        .flatMap(process -> process.info().commandLine().stream())
        .filter(line -> line.contains(directory.toString()) && !line.contains("CrashAgent"))
        .toList();
  }

  private List<Path> mounts() throws IOException {
    return Mounts.list().stream()
        .map(Mounts.MountPoint::target)
        .filter(target -> target.startsWith(directory))
        .toList();
  }

  private List<Path> cgroups() throws IOException {
    var found = new ArrayList<Path>();
    String tag = OciRuntime.tag(dirs.data());
    try (Stream<Path> hierarchies = Files.list(Path.of("/sys/fs/cgroup"))) {
      for (Path hierarchy : hierarchies.toList()) {
        for (Path parent : List.of(hierarchy, hierarchy.resolve("zlayer"))) {
          entries(parent).stream()
              .filter(path -> path.getFileName().toString().startsWith(tag + "-"))
              .forEach(found::add);
        }
      }
    }
    return found;
  }

  private static List<Path> entries(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (Stream<Path> paths = Files.list(directory)) {
      return paths.toList();
    }
  }
}
