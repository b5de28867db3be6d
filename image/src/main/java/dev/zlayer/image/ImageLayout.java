package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.ImageConfig;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.manifest.Manifest;
import dev.zlayer.image.manifest.ManifestReader;
import dev.zlayer.image.manifest.MediaTypes;
import dev.zlayer.image.store.Collector;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.image.store.Fsck;
import dev.zlayer.image.store.ImageIndex;
import dev.zlayer.image.store.ImageRecord;
import dev.zlayer.image.store.InUse;
import dev.zlayer.image.store.Leases;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.port.ImageDetails.Layer;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Where images lie: content, layers, the index of both, and who holds on to them. */
record ImageLayout(
    DiskContentStore content, ImageIndex index, LayerStore layers, Leases leases, InUse inUse) {
  private static final Platform WASM = Platform.of("wasi", "wasm");

  Collector collector() {
    return new Collector(content, index, layers, leases, inUse);
  }

  Fsck fsck() {
    return new Fsck(content, index, layers, leases, inUse);
  }

  /** Whether nothing of the image is missing. */
  boolean complete(ImageRecord image) {
    return image.blobs().stream().allMatch(content::has)
        && image.diffIds().stream().allMatch(layers::has);
  }

  /** What of the image is missing, in words that say what to do; empty when it is complete. */
  Optional<AgentException> damage(ImageRef reference, ImageRecord image) {
    Optional<String> missing =
        image.blobs().stream()
            .filter(blob -> !content.has(blob))
            .map(blob -> "blob " + blob)
            .findFirst()
            .or(
                () ->
                    image.diffIds().stream()
                        .filter(layer -> !layers.has(layer))
                        .map(layer -> "layer " + layer)
                        .findFirst());
    return missing.map(
        what ->
            new AgentException.Configuration(
                "image '%s' is damaged: %s is missing; run 'zlayer image fsck --repair'"
                    .formatted(reference.familiar(), what)));
  }

  /** The configuration of an image of files; that of a bare module means nothing to us. */
  Optional<ImageConfig> config(Manifest.Image image) throws IOException {
    if (image.kind() == ArtifactKind.WASM_MODULE
        && !MediaTypes.imageConfig(image.config().mediaType())) {
      return Optional.empty();
    }
    var config = ImageConfig.read(content.bytes(image.config().digest(), ImageConfig.MAX_BYTES));
    if (kind(image, Optional.of(config)) == ArtifactKind.ROOT_FILE_SYSTEM
        && config.diffIds().size() != image.layers().size()) {
      throw new InvalidImageException(
          "the image has %d layers, but its configuration names %d"
              .formatted(image.layers().size(), config.diffIds().size()));
    }
    return Optional.of(config);
  }

  Manifest.Image manifest(Digest digest) throws IOException {
    return switch (ManifestReader.read(content.bytes(digest, ManifestReader.MAX_BYTES), "")) {
      case Manifest.Image image -> image;
      case Manifest.Index _ ->
          throw new InvalidImageException(digest + " is an index, not an image");
    };
  }

  /** A module when the manifest says so, or when its files were built for WebAssembly. */
  static ArtifactKind kind(Manifest.Image image, Optional<ImageConfig> config) {
    return config.flatMap(ImageConfig::platform).filter(Platform::webAssembly).isPresent()
        ? ArtifactKind.WASM_MODULE
        : image.kind();
  }

  /** Each layer with what it is called once unpacked; what holds a module never is. */
  static List<Layer> layers(Manifest.Image image, Optional<ImageConfig> config) {
    var result = new ArrayList<Layer>();
    boolean files = kind(image, config) == ArtifactKind.ROOT_FILE_SYSTEM;
    for (int i = 0; i < image.layers().size(); i++) {
      Descriptor layer = image.layers().get(i);
      int number = i;
      Optional<Digest> diffId = config.filter(_ -> files).map(c -> c.diffIds().get(number));
      result.add(new Layer(layer.digest(), diffId, layer.size(), layer.mediaType()));
    }
    return result;
  }

  static ImageRecord record(
      Descriptor manifest,
      Manifest.Image image,
      Optional<ImageConfig> config,
      Instant now,
      boolean imported) {
    return new ImageRecord(
        manifest.digest(),
        manifest.mediaType(),
        image.config().digest(),
        kind(image, config),
        platform(image, config),
        layers(image, config),
        manifest.size() + image.contentBytes(),
        config.flatMap(ImageConfig::createdAt),
        now,
        now,
        imported);
  }

  private static Optional<Platform> platform(Manifest.Image image, Optional<ImageConfig> config) {
    Optional<Platform> written = config.flatMap(ImageConfig::platform);
    return kind(image, config) == ArtifactKind.WASM_MODULE
        ? written.filter(Platform::webAssembly).or(() -> Optional.of(WASM))
        : written;
  }
}
