package dev.zlayer.image.manifest;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.Platform;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads manifests of unknown origin. */
public final class ManifestReader {
  /** Over this a registry or an archive is not believed to hold a manifest. */
  public static final int MAX_BYTES = 4 << 20;

  private static final int MAX_LAYERS = 500;
  private static final int MAX_MANIFESTS = 1000;

  /** More than any layer can have, small enough that the sum of all layers cannot overflow. */
  private static final long MAX_BLOB = 1L << 42;

  private ManifestReader() {}

  /**
   * Parses an index or a manifest. The content decides what it is; a document that could be read as
   * both is refused, because two readers could then see two different images under one digest.
   *
   * @param typeHint the media type under which it was delivered; used when the document has none
   */
  public static Manifest read(byte[] bytes, String typeHint) throws InvalidImageException {
    Json json = parse(bytes, MAX_BYTES, "manifest");
    boolean index = json.at("manifests") instanceof Json.Arr;
    boolean image = json.at("config") instanceof Json.Obj || json.at("layers") instanceof Json.Arr;
    String type = json.at("mediaType").string().orElse(typeHint);
    if (MediaTypes.schema1(type) || json.at("schemaVersion").integer().orElse(2L) == 1) {
      throw new InvalidImageException(
          "the image is in Docker's schema 1 format, which has no verifiable content: push it again"
              + " with a current tool");
    }
    if (index == image) {
      throw new InvalidImageException(
          index ? "the manifest is both an index and an image" : "not an image manifest: " + type);
    }
    if (index ? MediaTypes.manifest(type) : MediaTypes.index(type)) {
      throw new InvalidImageException(
          "the manifest says it is " + type + ", but its content is not");
    }
    return index ? readIndex(json) : readImage(json);
  }

  private static Manifest.Index readIndex(Json json) throws InvalidImageException {
    List<Json> items = json.at("manifests").items();
    if (items.size() > MAX_MANIFESTS) {
      throw new InvalidImageException(
          "the index has %d entries, over the limit of %d".formatted(items.size(), MAX_MANIFESTS));
    }
    return new Manifest.Index(descriptors(items));
  }

  private static Manifest.Image readImage(Json json) throws InvalidImageException {
    List<Json> layers = json.at("layers").items();
    if (layers.size() > MAX_LAYERS) {
      throw new InvalidImageException(
          "the image has %d layers, over the limit of %d".formatted(layers.size(), MAX_LAYERS));
    }
    return new Manifest.Image(
        descriptor(json.at("config")),
        descriptors(layers),
        json.at("annotations").stringMap(),
        json.at("artifactType").string());
  }

  private static List<Descriptor> descriptors(List<Json> items) throws InvalidImageException {
    var result = new ArrayList<Descriptor>();
    for (Json item : items) {
      result.add(descriptor(item));
    }
    return result;
  }

  static Descriptor descriptor(Json json) throws InvalidImageException {
    long size = json.at("size").integer().orElse(-1L);
    if (size < 0 || size > MAX_BLOB) {
      throw new InvalidImageException("a descriptor has no usable size: " + brief(json));
    }
    try {
      return new Descriptor(
          json.at("mediaType").string().orElse(""),
          Digest.parse(json.at("digest").string().orElse("")),
          size,
          platform(json.at("platform")),
          json.at("annotations").stringMap());
    } catch (AgentException.InvalidSpec e) {
      throw new InvalidImageException("a descriptor is malformed: " + e.getMessage(), e);
    }
  }

  /** The platform as an index entry or a configuration names it, if it names one. */
  static Optional<Platform> platform(Json json) {
    Optional<String> os = json.at("os").string().filter(ManifestReader::meant);
    Optional<String> architecture = json.at("architecture").string().filter(ManifestReader::meant);
    if (os.isEmpty() || architecture.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        new Platform(
            os.orElseThrow(),
            architecture.orElseThrow(),
            json.at("variant").string().filter(text -> !text.isEmpty()),
            json.at("os.version").string().filter(text -> !text.isEmpty())));
  }

  /** Builders mark attachments such as provenance with the word unknown. */
  private static boolean meant(String text) {
    return !text.isBlank() && !text.equals("unknown");
  }

  static Json parse(byte[] bytes, int limit, String what) throws InvalidImageException {
    if (bytes.length > limit) {
      throw new InvalidImageException("the %s is over %d bytes".formatted(what, limit));
    }
    try {
      return JsonText.parse(bytes);
    } catch (AgentException.InvalidSpec e) {
      throw new InvalidImageException("the %s is %s".formatted(what, e.getMessage()), e);
    }
  }

  private static String brief(Json json) {
    String text = JsonText.print(json);
    return text.length() <= 200 ? text : text.substring(0, 200) + "...";
  }
}
