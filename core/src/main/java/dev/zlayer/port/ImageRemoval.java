package dev.zlayer.port;

import dev.zlayer.oci.Digest;
import java.util.List;

/** What a removal took away. */
public record ImageRemoval(List<String> untagged, List<Digest> deleted, long reclaimedBytes) {
  public ImageRemoval {
    untagged = List.copyOf(untagged);
    deleted = List.copyOf(deleted);
  }
}
