package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The control groups of this host, whichever of the two versions holds a controller. */
public final class Cgroups {
  private final CgroupMounts mounts;

  Cgroups(CgroupMounts mounts) {
    this.mounts = mounts;
  }

  /** Finds out where they are mounted, which does not change while the host runs. */
  public static Cgroups detect() throws IOException {
    return new Cgroups(CgroupMounts.parse(Files.readAllLines(Path.of("/proc/self/mountinfo"))));
  }

  public CgroupMode mode() {
    return mounts.mode();
  }

  /** Those with a hierarchy of their own. */
  Set<String> controllers() {
    return mounts.controllers().keySet();
  }

  /** The group of that path in every hierarchy, such as {@code /zlayer/box}. */
  public ControlGroup at(String path) {
    var directories = new HashMap<String, Path>();
    mounts.controllers().forEach((name, place) -> directories.put(name, place.directory(path)));
    return new ControlGroup(mounts.unified().map(place -> place.directory(path)), directories);
  }

  /** Removes a group that has neither processes nor groups in it, wherever it is. */
  public void removeEmpty(String path) {
    var places = new HashSet<>(mounts.controllers().values());
    mounts.unified().ifPresent(places::add);
    for (CgroupMounts.Place place : places) {
      try {
        Files.deleteIfExists(place.directory(path));
      } catch (IOException _) {
        // somebody else's containers are in it
      }
    }
  }

  /**
   * The groups a process is in.
   *
   * @throws java.nio.file.NoSuchFileException there is no such process
   */
  public ControlGroup of(long pid) throws IOException {
    return of(Files.readAllLines(Path.of("/proc", Long.toString(pid), "cgroup")));
  }

  /** From the lines of {@code /proc/PID/cgroup}. */
  ControlGroup of(List<String> lines) {
    Map<String, Path> directories = new HashMap<>();
    var unified = Optional.<Path>empty();
    for (String line : lines) {
      int first = line.indexOf(':');
      int second = line.indexOf(':', first + 1);
      if (first < 0 || second < 0) {
        continue;
      }
      String path = line.substring(second + 1);
      if (second == first + 1) {
        unified = mounts.unified().map(place -> place.directory(path));
        continue;
      }
      for (String name : line.substring(first + 1, second).split(",", -1)) {
        CgroupMounts.Place place = mounts.controllers().get(name);
        if (place != null) {
          directories.put(name, place.directory(path));
        }
      }
    }
    return new ControlGroup(unified, directories);
  }
}
