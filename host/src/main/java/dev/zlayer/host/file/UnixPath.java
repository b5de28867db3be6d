package dev.zlayer.host.file;

import java.nio.file.Path;

/**
 * Paths of a Linux system, also where this process does not run on one: there they are kept in the
 * local kind of path, whose own text has other separators. Pure.
 */
public final class UnixPath {
  private UnixPath() {}

  public static String text(Path path) {
    return path.toString().replace(path.getFileSystem().getSeparator(), "/");
  }
}
