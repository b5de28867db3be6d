package dev.zlayer.testkit;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.linux.Mounts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * What containers of an agent on one directory have left on this machine, apart from networks.
 *
 * @param tag what the names of its control groups start with
 */
public record HostLeaks(Path directory, String tag) {
  /** Each names what it is and where; none are left when it is empty. */
  public List<String> find() throws IOException {
    DataDir dirs = DataDir.under(directory);
    var found = new ArrayList<String>();
    processes().forEach(line -> found.add("process " + line));
    mounts().forEach(mount -> found.add("mount " + mount));
    cgroups().forEach(group -> found.add("control group " + group));
    for (Path place :
        List.of(
            dirs.containers(),
            dirs.snapshots(),
            dirs.ociState(),
            dirs.builds(),
            dirs.volumes().resolve(".anonymous"))) {
      entries(place).forEach(left -> found.add("file " + left));
    }
    for (Path kept : entries(dirs.dispatch())) {
      if (size(kept) > 0) { // one for all containers, empty without any
        found.add("records in " + kept);
      }
    }
    return found;
  }

  /** Every other process that has to do with the directory, Java itself excepted. */
  public List<String> processes() {
    return ProcessHandle.allProcesses()
        .flatMap(process -> process.info().commandLine().stream())
        .filter(line -> line.contains(directory.toString()) && !line.contains("dev.zlayer."))
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
    for (Path hierarchy : entries(Path.of("/sys/fs/cgroup"))) {
      for (Path parent : List.of(hierarchy, hierarchy.resolve("zlayer"))) {
        entries(parent).stream()
            .filter(path -> path.getFileName().toString().startsWith(tag + "-"))
            .forEach(found::add);
      }
    }
    return found;
  }

  /** Control groups of others come and go while they are listed. */
  private static List<Path> entries(Path directory) throws IOException {
    try (Stream<Path> paths = Files.list(directory)) {
      return paths.toList();
    } catch (NoSuchFileException | NotDirectoryException _) {
      return List.of();
    } catch (UncheckedIOException e) {
      if (e.getCause() instanceof NoSuchFileException) {
        return List.of(); // it went after it was opened
      }
      throw e;
    }
  }

  /** Of what has gone since it was listed nothing is left. */
  private static long size(Path file) throws IOException {
    try {
      return Files.size(file);
    } catch (NoSuchFileException _) {
      return 0;
    }
  }
}
