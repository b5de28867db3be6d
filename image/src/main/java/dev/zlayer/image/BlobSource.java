package dev.zlayer.image;

import dev.zlayer.image.registry.BlobListener;
import dev.zlayer.image.store.Ingest;
import java.io.IOException;

/** Where the blobs of one image come from. */
@FunctionalInterface
interface BlobSource {
  /** Returns when the blob is verified and in the store. */
  void blob(Ingest into, BlobListener listener) throws IOException, InterruptedException;
}
