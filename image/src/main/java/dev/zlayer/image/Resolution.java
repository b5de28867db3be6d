package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.manifest.Manifest;
import dev.zlayer.image.manifest.ManifestReader;
import dev.zlayer.image.manifest.MediaTypes;
import dev.zlayer.image.manifest.PlatformChoice;
import dev.zlayer.image.registry.Fetched;
import dev.zlayer.image.registry.Repository;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import java.io.IOException;
import java.util.stream.Collectors;

/**
 * What a reference means for one platform, found without layers.
 *
 * @param resolved what the reference itself points to: the image, or an index above it
 */
@SuppressWarnings("ArrayRecordComponent") // bytes to hand over, never compared
record Resolution(Digest resolved, Descriptor manifest, byte[] bytes, Manifest.Image image) {
  /** An index may lead to another one, but not for long. */
  private static final int MAX_DEPTH = 4;

  /** Who wants an image. */
  record Request(ImageRef reference, Platform platform, String runtime) {
    AgentException.WrongPlatform wrong(String actual) {
      return new AgentException.WrongPlatform(
          runtime, platform.toString(), actual, reference.toString());
    }
  }

  /** Follows a manifest that was fetched down to the image for the wished platform. */
  static Resolution follow(Fetched top, Repository from, Request request)
      throws IOException, InterruptedException {
    Fetched at = top;
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
      switch (ManifestReader.read(at.bytes(), at.contentType())) {
        case Manifest.Image image -> {
          Descriptor manifest = Descriptor.of(type(at), at.digest(), at.bytes().length);
          return new Resolution(top.digest(), manifest, at.bytes(), image);
        }
        case Manifest.Index index -> at = child(from, choose(index, request));
      }
    }
    throw new InvalidImageException(
        "the index refers to more than %d other indexes".formatted(MAX_DEPTH));
  }

  private static Descriptor choose(Manifest.Index index, Request request) {
    return PlatformChoice.choose(index, request.platform())
        .orElseThrow(
            () ->
                request.wrong(
                    PlatformChoice.platforms(index).stream()
                        .map(Platform::toString)
                        .collect(Collectors.joining(", "))));
  }

  private static Fetched child(Repository from, Descriptor entry)
      throws IOException, InterruptedException {
    Fetched child = from.manifest(entry.digest().toString());
    if (child.bytes().length != entry.size()) {
      throw new InvalidImageException(
          "manifest %s has %d bytes instead of %d"
              .formatted(entry.digest(), child.bytes().length, entry.size()));
    }
    return new Fetched(
        child.digest(),
        entry.mediaType().isEmpty() ? child.contentType() : entry.mediaType(),
        child.bytes());
  }

  private static String type(Fetched manifest) {
    Json inside = JsonText.parse(manifest.bytes()).at("mediaType");
    return inside
        .string()
        .orElse(
            manifest.contentType().equals(MediaTypes.DOCKER_MANIFEST)
                ? MediaTypes.DOCKER_MANIFEST
                : MediaTypes.OCI_MANIFEST);
  }
}
