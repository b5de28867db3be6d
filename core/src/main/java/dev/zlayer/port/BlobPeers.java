package dev.zlayer.port;

import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Set;

/**
 * Others that may have the same parts of images, such as the other nodes of a cluster. Nothing that
 * they send is trusted: whoever asks verifies size and digest.
 */
@FunctionalInterface
public interface BlobPeers {
  /** There are none. */
  BlobPeers NONE = _ -> List.of();

  /**
   * Those that have some of these blobs, in the order in which they should be asked. Blocks for a
   * moment at most; whoever does not answer by then has none.
   */
  List<BlobPeer> having(Set<Digest> blobs) throws InterruptedException;

  /** One that has blobs. */
  interface BlobPeer {
    /** For people. */
    String name();

    /** Those of the wanted blobs that it has. */
    Set<Digest> blobs();

    /**
     * What follows a position of a blob. Reading fails when nothing comes for a while.
     *
     * @throws IOException it cannot be reached, is busy, or has it no more
     */
    InputStream open(Digest blob, long from) throws IOException, InterruptedException;
  }
}
