package dev.zlayer.host.file;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;

/**
 * An empty file beside the socket of an agent that commands open when they are about to ask for a
 * process in a container: they know that some milliseconds before they can ask, and the agent can
 * prepare for it. It says nothing and changes nothing; where there is none, all works as well.
 */
public final class Announcement {
  private Announcement() {}

  public static Path of(Path socket) {
    return socket.resolveSibling(Objects.requireNonNull(socket.getFileName()) + ".soon");
  }

  /** Makes the file; only those who may connect can open it. */
  public static Path make(Path socket) throws IOException {
    Path file = of(socket);
    try {
      Files.createFile(
          file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-r-----")));
    } catch (FileAlreadyExistsException _) {
      // of an agent before
    }
    PosixFileAttributes attributes = Files.readAttributes(socket, PosixFileAttributes.class);
    Files.getFileAttributeView(file, PosixFileAttributeView.class).setGroup(attributes.group());
    return file;
  }

  /** Says to the agent of that socket that a process in a container will be asked for. */
  public static void announce(Path socket) {
    try (var _ = new FileInputStream(of(socket).toFile())) {
      // that it was opened is all
    } catch (IOException _) {
      // there is nobody who prepares
    }
  }
}
