package dev.zlayer.host.file;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;
import java.util.Set;

/**
 * Directories and files that only their owner may look into, also when an earlier build made them
 * open.
 */
public final class PrivateDirectory {
  private static final Set<PosixFilePermission> DIRECTORY =
      PosixFilePermissions.fromString("rwx------");
  private static final Set<PosixFilePermission> PASSABLE =
      PosixFilePermissions.fromString("rwx--x--x");
  private static final Set<PosixFilePermission> FILE = PosixFilePermissions.fromString("rw-------");

  private PrivateDirectory() {}

  /** Makes it if it is absent, with what is above it. */
  public static void directory(Path path) throws IOException {
    directory(path, DIRECTORY);
  }

  /**
   * Makes the directories of an agent. Others may pass through the one with the sockets, without
   * seeing what is in it, and enter none below it.
   *
   * @throws AgentException.Configuration one of them cannot be made
   */
  public static void directories(DataDir dirs) {
    boolean within = dirs.run().toAbsolutePath().startsWith(dirs.data().toAbsolutePath());
    try {
      directory(dirs.data(), within ? PASSABLE : DIRECTORY);
      directory(dirs.run(), PASSABLE);
      for (Path path : dirs.privateDirectories()) {
        directory(path);
      }
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot make the directories of %s: %s".formatted(dirs.data(), e.getMessage()), e);
    }
  }

  private static void directory(Path path, Set<PosixFilePermission> permissions)
      throws IOException {
    if (!posix(path)) {
      Files.createDirectories(path);
      return;
    }
    if (!Files.isDirectory(path)) {
      Files.createDirectories(
          Objects.requireNonNull(path.toAbsolutePath().getParent(), "the root is there"));
      try {
        Files.createDirectory(path, PosixFilePermissions.asFileAttribute(DIRECTORY));
      } catch (FileAlreadyExistsException _) {
        // another one made it meanwhile
      }
    }
    Files.setPosixFilePermissions(path, permissions);
  }

  private static boolean posix(Path path) {
    return path.getFileSystem().supportedFileAttributeViews().contains("posix");
  }

  /** Makes it if it is absent; others may pass through without seeing what is in it. */
  public static void passable(Path path) throws IOException {
    directory(path, PASSABLE);
  }

  /** Makes it, empty, if it is absent. */
  public static void file(Path path) throws IOException {
    FileAttribute<?>[] attributes =
        posix(path)
            ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(FILE)}
            : new FileAttribute<?>[0];
    try {
      Files.createFile(path, attributes);
    } catch (FileAlreadyExistsException _) {
      if (posix(path)) {
        Files.setPosixFilePermissions(path, FILE);
      }
    }
  }
}
