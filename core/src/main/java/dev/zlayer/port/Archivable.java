package dev.zlayer.port;

import dev.zlayer.container.FileChange;
import dev.zlayer.container.PathStat;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;

/**
 * A container whose files can be copied in and out, running or not. Paths are resolved inside its
 * root, mounts included; a link never leads out, also when it is swapped while copying.
 */
public interface Archivable {
  PathStat stat(String path);

  /** Writes a tar archive of the file or directory. */
  void copyOut(String path, OutputStream tar) throws InterruptedException;

  /** Unpacks a tar archive into a directory, which has to exist. */
  void copyIn(String directory, InputStream tar) throws InterruptedException;

  /**
   * As {@link #copyIn}, also into a mount that the container itself may only read. Only for content
   * that the mount is made of, never for what a user names.
   */
  default void fill(String directory, InputStream tar) throws InterruptedException {
    copyIn(directory, tar);
  }

  /** What differs from the image. */
  List<FileChange> changes();
}
