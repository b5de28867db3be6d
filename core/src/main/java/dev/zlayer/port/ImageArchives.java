package dev.zlayer.port;

import dev.zlayer.oci.ImageRef;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;

/** Images that can travel as files. */
public interface ImageArchives {
  /**
   * Reads an archive made by {@code docker save} or an OCI layout as tar; returns what it named.
   */
  List<ImageInfo> load(InputStream tar) throws InterruptedException;

  /** Writes an archive that both {@code docker load} and OCI tools read. */
  void save(List<ImageRef> images, OutputStream tar) throws InterruptedException;

  /** Makes an image of one layer from a root file system. */
  ImageInfo importRoot(InputStream tar, ImageRef as) throws InterruptedException;
}
