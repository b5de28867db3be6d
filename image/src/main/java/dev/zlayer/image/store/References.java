package dev.zlayer.image.store;

import dev.zlayer.oci.Digest;
import java.util.HashSet;
import java.util.Set;

/** Everything that something refers to: the opposite of garbage. */
record References(Set<Digest> blobs, Set<Digest> layers) {
  static References of(IndexState state, InUse inUse) {
    var blobs = new HashSet<Digest>();
    var layers = new HashSet<Digest>();
    for (ImageRecord image : state.images().values()) {
      blobs.addAll(image.blobs());
      layers.addAll(image.diffIds());
    }
    inUse.uses().forEach(use -> layers.addAll(use.layers()));
    return new References(blobs, layers);
  }
}
