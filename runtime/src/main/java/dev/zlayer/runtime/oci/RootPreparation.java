package dev.zlayer.runtime.oci;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.MountTargets;
import dev.zlayer.json.Json;
import dev.zlayer.runtime.oci.config.BundleConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;

/**
 * Makes everything in a root file system that the OCI runtime touches before the container is
 * entered. A runtime that joins paths would follow a link of the image on the host; here all of
 * them become real directories and files inside, and the configuration names them without links.
 */
final class RootPreparation {
  /** Of the kernel: whatever the image has there makes way. */
  private static final Set<String> KERNEL = Set.of("/proc", "/sys", "/dev");

  private static final Set<String> OWN_FILES =
      Set.of("/etc/hosts", "/etc/hostname", "/etc/resolv.conf");

  /** Files of /proc that may be replaced; any other could mislead those who write to it. */
  private static final Set<String> PROC_FILES =
      Set.of(
          "/proc/cpuinfo",
          "/proc/diskstats",
          "/proc/loadavg",
          "/proc/meminfo",
          "/proc/net/dev",
          "/proc/slabinfo",
          "/proc/stat",
          "/proc/swaps",
          "/proc/uptime");

  private static final int TMPFS_PERMISSIONS = 01777;

  private RootPreparation() {}

  /**
   * The configuration with the places as they are now; the same when nothing changed.
   *
   * @param owner of what has to be made
   */
  static Json apply(Path root, Json config, long owner) throws IOException {
    try (var targets = MountTargets.open(root, owner)) {
      Set<String> covered = new HashSet<>();
      List<Json> mounts = new ArrayList<>();
      for (Json mount : config.at("mounts").items()) {
        String target = text(mount, "destination");
        String place = mountTarget(targets, mount, target, covered);
        covered.add(place);
        mounts.add(BundleConfig.with(mount, "destination", Json.of(place)));
      }
      List<Json> devices = new ArrayList<>();
      for (Json device : config.at("linux").at("devices").items()) {
        String place = targets.vacate(text(device, "path"), covered);
        devices.add(BundleConfig.with(device, "path", Json.of(place)));
      }
      workdir(targets, config.at("process").at("cwd").string().orElse("/"), covered);
      var linux = BundleConfig.with(config.at("linux"), "devices", new Json.Arr(devices));
      var members = new LinkedHashMap<>(config.members());
      members.put("mounts", new Json.Arr(mounts));
      members.put("linux", linux);
      return new Json.Obj(members);
    }
  }

  private static String mountTarget(
      MountTargets targets, Json mount, String target, Set<String> covered) {
    try {
      String place;
      if (KERNEL.contains(target)) {
        place = targets.makeReal(target, MountTargets.Kind.DIRECTORY, covered);
      } else if (!text(mount, "type").equals("bind")) {
        place = targets.makeDirectory(target, permissions(mount), covered);
      } else {
        Path source = Path.of(text(mount, "source"));
        boolean directory = Files.isDirectory(source);
        MountTargets.Kind kind = directory ? MountTargets.Kind.DIRECTORY : MountTargets.Kind.FILE;
        place =
            OWN_FILES.contains(target) && !directory
                ? targets.makeReal(target, kind, covered)
                : targets.make(target, kind, covered);
      }
      checkPlace(mount, target, place);
      return place;
    } catch (IOException e) {
      throw new AgentException.InvalidSpec(
          "mount target '%s' in the image: %s".formatted(target, e.getMessage()), e);
    }
  }

  /** A runtime gives a new file system the permissions of what it is mounted on. */
  private static int permissions(Json mount) {
    return mount.at("options").strings().stream()
        .filter(option -> option.startsWith("mode="))
        .map(option -> Integer.parseInt(option.substring("mode=".length()), 8))
        .findFirst()
        .orElse(TMPFS_PERMISSIONS);
  }

  private static void checkPlace(Json mount, String target, String place) {
    if (place.equals("/")) {
      throw new AgentException.InvalidSpec(
          "mount target '%s' is a symbolic link to the root in the image".formatted(target));
    }
    boolean proc = text(mount, "type").equals("proc") || text(mount, "source").equals("/proc");
    if ((place.equals("/proc") && !proc)
        || (BundleConfig.below(place, "/proc") && !PROC_FILES.contains(place))) {
      throw new AgentException.InvalidSpec(
          "mount target '%s' is in /proc, which only the kernel fills".formatted(target));
    }
  }

  private static void workdir(MountTargets targets, String workdir, Set<String> covered) {
    BundleConfig.checkWorkdir(workdir);
    try {
      BundleConfig.checkWorkdir(targets.make(workdir, MountTargets.Kind.DIRECTORY, covered));
    } catch (IOException e) {
      throw new AgentException.InvalidSpec(
          "working directory '%s' in the image: %s".formatted(workdir, e.getMessage()), e);
    }
  }

  private static String text(Json json, String name) {
    return json.at(name).string().orElse("");
  }
}
