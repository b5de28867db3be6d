package dev.zlayer.host.linux;

import java.nio.file.Path;

/** The way into the file system of a process. */
public final class ContainerRoot {
  private ContainerRoot() {}

  /** The root as the process sees it, with all its mounts; usable as long as it lives. */
  public static Path of(long pid) {
    return Path.of("/proc", Long.toString(pid), "root");
  }
}
