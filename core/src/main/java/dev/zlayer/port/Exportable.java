package dev.zlayer.port;

import java.io.OutputStream;

/**
 * A container whose root file system can be taken as a whole, or as a layer over its image. Volumes
 * and whatever else is mounted in it are left out.
 */
public interface Exportable {
  /** Writes a tar archive of the root file system. */
  void export(OutputStream tar) throws InterruptedException;

  /** Writes what differs from the image as a layer; deleted files become whiteouts. */
  void exportChanges(OutputStream layer) throws InterruptedException;
}
