package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Which control groups this host mounts and what they can bound. */
public record CgroupSupport(boolean v2, boolean systemd, boolean swap, boolean blockIoWeight) {
  private static final Path ROOT = Path.of("/sys/fs/cgroup");

  /** Where every system, that inside a container too, expects them. */
  public static Path mountPoint() {
    return ROOT;
  }

  public static CgroupSupport read() {
    boolean v2 = Files.exists(ROOT.resolve("cgroup.controllers"));
    boolean systemd = v2 && Files.isDirectory(Path.of("/run/systemd/system"));
    return v2
        ? new CgroupSupport(true, systemd, Files.exists(Path.of("/proc/swaps")), hasIo())
        : new CgroupSupport(
            false,
            false,
            Files.exists(ROOT.resolve("memory/memory.memsw.limit_in_bytes")),
            Files.exists(ROOT.resolve("blkio/blkio.weight"))
                || Files.exists(ROOT.resolve("blkio/blkio.bfq.weight")));
  }

  private static boolean hasIo() {
    try {
      return List.of(Files.readString(ROOT.resolve("cgroup.controllers")).strip().split(" ", -1))
          .contains("io");
    } catch (IOException _) {
      return false;
    }
  }
}
