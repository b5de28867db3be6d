package dev.zlayer.runtime.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Images in the engine's words. The engine forgets the compressed layers of an image, so that a
 * layer's digest is that of its content; the digest of the manifest is known for pulled images
 * only, others have that of their configuration.
 */
final class ImageJson {
  private static final String LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar";

  private ImageJson() {}

  static ImageInfo info(Json image) {
    return new ImageInfo(
        digest(image),
        references(image),
        platform(image),
        ArtifactKind.ROOT_FILE_SYSTEM,
        image.at("Size").integer().orElse(0L),
        image.at("Created").string().map(text -> OffsetDateTime.parse(text).toInstant()));
  }

  static ImageDetails details(Json image, Json history) {
    Json config = image.at("Config");
    List<ImageDetails.Layer> layers =
        image.at("RootFS").at("Layers").strings().stream()
            .map(Digest::parse)
            .map(diff -> new ImageDetails.Layer(diff, Optional.of(diff), 0, LAYER_TYPE))
            .toList();
    var run =
        new ImageDetails.RunConfig(
            config.at("Entrypoint").strings(),
            config.at("Cmd").strings(),
            config.at("Env").strings(),
            text(config.at("WorkingDir")),
            text(config.at("User")),
            List.copyOf(config.at("ExposedPorts").members().keySet()),
            List.copyOf(config.at("Volumes").members().keySet()),
            config.at("Labels").stringMap(),
            text(config.at("StopSignal")),
            config.at("Healthcheck"));
    return new ImageDetails(
        info(image),
        id(image),
        layers,
        java.util.Map.of(),
        image.at("Author").string().orElse(""),
        run,
        history(history));
  }

  /** The engine lists the newest first. */
  private static List<ImageDetails.HistoryEntry> history(Json history) {
    return history.items().reversed().stream()
        .map(
            entry ->
                new ImageDetails.HistoryEntry(
                    entry.at("Created").integer().map(Instant::ofEpochSecond),
                    entry.at("CreatedBy").string().orElse(""),
                    entry.at("Comment").string().orElse(""),
                    entry.at("Size").integer().orElse(0L) == 0))
        .toList();
  }

  static Optional<Platform> platform(Json image) {
    Optional<String> os = text(image.at("Os"));
    Optional<String> architecture = text(image.at("Architecture"));
    return os.isEmpty() || architecture.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new Platform(
                os.get(),
                architecture.get(),
                text(image.at("Variant")),
                text(image.at("OsVersion"))));
  }

  private static Digest digest(Json image) {
    return image.at("RepoDigests").strings().stream()
        .filter(text -> text.contains("@"))
        .map(text -> Digest.parse(text.substring(text.indexOf('@') + 1)))
        .findFirst()
        .orElseGet(() -> id(image));
  }

  private static Digest id(Json image) {
    return image
        .at("Id")
        .string()
        .map(Digest::parse)
        .orElseThrow(() -> new AgentException.Internal("the engine names an image without id"));
  }

  private static List<ImageRef> references(Json image) {
    List<ImageRef> references = new ArrayList<>();
    for (String text : image.at("RepoTags").strings()) {
      if (!text.contains("<none>")) {
        references.add(ImageRef.parse(text));
      }
    }
    for (String text : image.at("RepoDigests").strings()) {
      if (!text.contains("<none>") && references.isEmpty()) {
        references.add(ImageRef.parse(text));
      }
    }
    return references;
  }

  private static Optional<String> text(Json json) {
    return json.string().filter(text -> !text.isEmpty());
  }
}
