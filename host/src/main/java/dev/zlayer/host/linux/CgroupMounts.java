package dev.zlayer.host.linux;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Where the control group hierarchies are mounted.
 *
 * @param unified the mount of version 2, if any
 * @param controllers the mounts of version 1, by controller
 */
record CgroupMounts(Optional<Place> unified, Map<String, Place> controllers) {
  CgroupMounts {
    controllers = Map.copyOf(controllers);
  }

  /**
   * One mount.
   *
   * @param root the group that is seen at the mount point; not {@code /} inside a container
   */
  record Place(String root, Path mountPoint) {
    /** The directory of a group named as in {@code /proc/PID/cgroup}. */
    Path directory(String group) {
      String below = group;
      if (!root.equals("/") && (group.equals(root) || group.startsWith(root + "/"))) {
        below = group.substring(root.length());
      }
      return mountPoint.resolve(below.replaceFirst("^/+", ""));
    }
  }

  /** Reads the text of {@code /proc/PID/mountinfo}. */
  static CgroupMounts parse(List<String> mountInfo) {
    Optional<Place> unified = Optional.empty();
    var controllers = new HashMap<String, Place>();
    for (String line : mountInfo) {
      int separator = line.indexOf(" - ");
      if (separator < 0) {
        continue;
      }
      List<String> left = List.of(line.substring(0, separator).split(" ", -1));
      List<String> right = List.of(line.substring(separator + 3).split(" ", -1));
      if (left.size() < 5 || right.size() < 3) {
        continue;
      }
      var place = new Place(unescape(left.get(3)), Path.of(unescape(left.get(4))));
      switch (right.getFirst()) {
        case "cgroup2" -> unified = Optional.of(unified.orElse(place));
        case "cgroup" -> {
          for (String option : right.get(2).split(",", -1)) {
            controllers.putIfAbsent(option, place);
          }
        }
        default -> {} // some other file system
      }
    }
    controllers.keySet().removeIf(option -> option.equals("rw") || option.equals("ro"));
    return new CgroupMounts(unified, controllers);
  }

  CgroupMode mode() {
    boolean one = controllers.keySet().stream().anyMatch(name -> !name.startsWith("name="));
    if (unified.isPresent()) {
      return one ? CgroupMode.HYBRID : CgroupMode.V2;
    }
    return one ? CgroupMode.V1 : CgroupMode.NONE;
  }

  /** The kernel writes blanks and the like in paths as octal numbers. */
  private static String unescape(String text) {
    if (text.indexOf('\\') < 0) {
      return text;
    }
    return text.replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\");
  }
}
