package dev.zlayer.image.store;

import dev.zlayer.oci.Digest;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.port.ImageDetails.Layer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * An image that is completely here.
 *
 * @param manifest the digest of its manifest, which is its identity
 * @param contentBytes manifest, configuration and layers as downloaded
 * @param lastUsed when it was last pulled or a container was made of it
 * @param imported whether it came from a file, so that no registry may have it
 */
public record ImageRecord(
    Digest manifest,
    String mediaType,
    Digest config,
    ArtifactKind kind,
    Optional<Platform> platform,
    List<Layer> layers,
    long contentBytes,
    Optional<Instant> createdAt,
    Instant pulledAt,
    Instant lastUsed,
    boolean imported) {
  public ImageRecord {
    layers = List.copyOf(layers);
  }

  /** Every blob the image consists of. */
  public List<Digest> blobs() {
    var result = new ArrayList<>(List.of(manifest, config));
    layers.forEach(layer -> result.add(layer.digest()));
    return result;
  }

  /** Every layer it needs unpacked, lowest first. */
  public List<Digest> diffIds() {
    return layers.stream().flatMap(layer -> layer.diffId().stream()).toList();
  }

  ImageRecord usedAt(Instant time) {
    return new ImageRecord(
        manifest,
        mediaType,
        config,
        kind,
        platform,
        layers,
        contentBytes,
        createdAt,
        pulledAt,
        time,
        imported);
  }
}
