package dev.zlayer.host.file;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * Directories and files that only their owner may look into, also when an earlier build made them
 * open.
 */
public final class PrivatePlace {
  private static final Set<PosixFilePermission> DIRECTORY =
      PosixFilePermissions.fromString("rwx------");
  private static final Set<PosixFilePermission> FILE = PosixFilePermissions.fromString("rw-------");

  private PrivatePlace() {}

  /** Makes it if it is absent, with what is above it. */
  public static void directory(Path path) throws IOException {
    Files.createDirectories(path);
    Files.setPosixFilePermissions(path, DIRECTORY);
  }

  /** Makes it, empty, if it is absent. */
  public static void file(Path path) throws IOException {
    try {
      Files.createFile(path, PosixFilePermissions.asFileAttribute(FILE));
    } catch (FileAlreadyExistsException _) {
      Files.setPosixFilePermissions(path, FILE);
    }
  }
}
