package dev.zlayer.image.store;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.port.ImageDetails.Layer;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** The index as it lies on disk. */
final class IndexJson {
  static final StoredFormat FORMAT = StoredFormat.of("the image index");

  private IndexJson() {}

  static byte[] write(IndexState state) {
    var references = Json.object();
    state
        .references()
        .forEach(
            (reference, target) ->
                references.put(
                    reference.canonical(),
                    Json.object()
                        .put("resolved", target.resolved())
                        .put("image", target.image())
                        .build()));
    Json json =
        FORMAT
            .begin()
            .put("images", state.images().values().stream().map(IndexJson::image).toList())
            .put("references", references.build())
            .build();
    return JsonText.bytes(json);
  }

  private static Json image(ImageRecord image) {
    return Json.object()
        .put("manifest", image.manifest())
        .put("mediaType", image.mediaType())
        .put("config", image.config())
        .put("kind", image.kind())
        .putIf("platform", image.platform().map(IndexJson::platform))
        .put("layers", image.layers().stream().map(IndexJson::layer).toList())
        .put("bytes", image.contentBytes())
        .putIf("createdAt", image.createdAt())
        .put("pulledAt", image.pulledAt())
        .put("lastUsed", image.lastUsed())
        .putIf("imported", Optional.of(true).filter(_ -> image.imported()))
        .build();
  }

  private static Json platform(Platform platform) {
    return Json.object()
        .put("os", platform.os())
        .put("architecture", platform.architecture())
        .putIf("variant", platform.variant())
        .putIf("osVersion", platform.osVersion())
        .build();
  }

  private static Json layer(Layer layer) {
    return Json.object()
        .put("digest", layer.digest())
        .putIf("diffId", layer.diffId())
        .put("bytes", layer.bytes())
        .put("mediaType", layer.mediaType())
        .build();
  }

  /** Throws {@link AgentException.InvalidSpec} for everything that we did not write. */
  static IndexState read(Json stored, Path file) {
    Json json = FORMAT.upgrade(stored, file);
    var images = new LinkedHashMap<Digest, ImageRecord>();
    for (Json item : json.at("images").items()) {
      ImageRecord image = readImage(item);
      images.put(image.manifest(), image);
    }
    var references = new LinkedHashMap<ImageRef, IndexState.Target>();
    for (Map.Entry<String, Json> entry : json.at("references").members().entrySet()) {
      references.put(
          ImageRef.parse(entry.getKey()),
          new IndexState.Target(
              digest(entry.getValue().at("resolved")), digest(entry.getValue().at("image"))));
    }
    return new IndexState(images, references);
  }

  private static ImageRecord readImage(Json json) {
    return new ImageRecord(
        digest(json.at("manifest")),
        text(json.at("mediaType")),
        digest(json.at("config")),
        ArtifactKind.valueOf(text(json.at("kind")).toUpperCase(Locale.ROOT)),
        readPlatform(json.at("platform")),
        json.at("layers").items().stream().map(IndexJson::readLayer).toList(),
        number(json.at("bytes")),
        json.at("createdAt").string().map(Instant::parse),
        Instant.parse(text(json.at("pulledAt"))),
        Instant.parse(text(json.at("lastUsed"))),
        json.at("imported").bool().orElse(false));
  }

  private static Optional<Platform> readPlatform(Json json) {
    return json.isNull()
        ? Optional.empty()
        : Optional.of(
            new Platform(
                text(json.at("os")),
                text(json.at("architecture")),
                json.at("variant").string(),
                json.at("osVersion").string()));
  }

  private static Layer readLayer(Json json) {
    return new Layer(
        digest(json.at("digest")),
        json.at("diffId").string().map(Digest::parse),
        number(json.at("bytes")),
        text(json.at("mediaType")));
  }

  private static Digest digest(Json json) {
    return Digest.parse(text(json));
  }

  private static String text(Json json) {
    return json.string().orElseThrow(() -> new AgentException.InvalidSpec("a text is missing"));
  }

  private static long number(Json json) {
    return json.integer().orElseThrow(() -> new AgentException.InvalidSpec("a number is missing"));
  }
}
