package dev.zlayer.image.store;

import dev.zlayer.oci.Digest;
import java.util.HashSet;
import java.util.Set;

/** Everything that something refers to: the opposite of garbage. */
record ContentReferences(Set<Digest> blobs, Set<Digest> layers) {
  static ContentReferences of(IndexState state, InUse inUse) {
    var blobs = new HashSet<Digest>();
    var layers = new HashSet<Digest>();
    for (ImageRecord image : state.images().values()) {
      blobs.addAll(image.blobs());
      layers.addAll(image.diffIds());
    }
    inUse.uses().forEach(use -> layers.addAll(use.layers()));
    return new ContentReferences(blobs, layers);
  }
}
