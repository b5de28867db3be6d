package dev.zlayer.testkit.image;

import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.Platform;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A finished image: one manifest, or an index over several.
 *
 * @param manifest the manifest or index; its digest is the image's
 * @param config absent for an index
 * @param children the images of an index
 */
public record MadeImage(
    Content manifest,
    Optional<Content> config,
    List<MadeLayer> layers,
    Optional<Platform> platform,
    List<MadeImage> children) {
  public MadeImage {
    layers = List.copyOf(layers);
    children = List.copyOf(children);
  }

  /** A layer as it travels, and the archive inside. */
  @SuppressWarnings("ArrayRecordComponent") // the diff id stands for the bytes
  public record MadeLayer(Content blob, byte[] tar, Digest diffId) {}

  public Digest digest() {
    return manifest.digest();
  }

  /** Config and layers, of all children too; no manifests. */
  public List<Content> blobs() {
    var blobs = new ArrayList<Content>();
    config.ifPresent(blobs::add);
    layers.forEach(layer -> blobs.add(layer.blob()));
    children.forEach(child -> blobs.addAll(child.blobs()));
    return blobs.stream().distinct().toList();
  }

  /** Children first, so that pushing in this order never names what is not there. */
  public List<Content> manifests() {
    var manifests = new ArrayList<Content>();
    children.forEach(child -> manifests.addAll(child.manifests()));
    manifests.add(manifest);
    return List.copyOf(manifests);
  }

  /** What an index says about this image. */
  Json.Builder descriptor() {
    Json.Builder descriptor = manifest.descriptor();
    return descriptor.putIf("platform", platform.map(MadeImage::json));
  }

  private static Json json(Platform platform) {
    return Json.object()
        .put("architecture", platform.architecture())
        .put("os", platform.os())
        .putIf("variant", platform.variant())
        .putIf("os.version", platform.osVersion())
        .build();
  }

  /** Writes an OCI layout into a directory and returns it; {@code tags} name the image in it. */
  public Path layout(Path directory, String... tags) {
    return Archives.layout(this, directory, List.of(tags));
  }

  /** An OCI layout as tar; {@code names} are full references or plain tags. */
  public byte[] ociArchive(String... names) {
    return Archives.oci(this, List.of(names));
  }

  /** What {@code docker save} wrote before it knew OCI layouts; not for an index. */
  public byte[] dockerArchive(String... repositoryTags) {
    return Archives.docker(this, List.of(repositoryTags));
  }
}
