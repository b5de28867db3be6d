package dev.zlayer.port;

import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * One image.
 *
 * @param digest of its manifest
 * @param references what points to it; empty when dangling
 * @param contentBytes its blobs as downloaded
 */
public record ImageInfo(
    Digest digest,
    List<ImageRef> references,
    Optional<Platform> platform,
    Capabilities.ArtifactKind kind,
    long contentBytes,
    Optional<Instant> createdAt) {
  public ImageInfo {
    references = List.copyOf(references);
  }

  /** The same image, with only these names. */
  public ImageInfo withReferences(List<ImageRef> names) {
    return new ImageInfo(digest, names, platform, kind, contentBytes, createdAt);
  }
}
