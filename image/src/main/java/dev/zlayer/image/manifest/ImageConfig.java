package dev.zlayer.image.manifest;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.ImageDetails;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The configuration blob of an image: its platform, its layers as unpacked, how to run it.
 *
 * @param author empty when it names none
 */
public record ImageConfig(
    Optional<Platform> platform,
    Optional<Instant> createdAt,
    List<Digest> diffIds,
    String author,
    ImageDetails.RunConfig run,
    List<ImageDetails.HistoryEntry> history) {
  public static final int MAX_BYTES = 8 << 20;

  public ImageConfig {
    diffIds = List.copyOf(diffIds);
    history = List.copyOf(history);
  }

  public static ImageConfig read(byte[] bytes) throws InvalidImageException {
    var json = new TypedJson("", ManifestReader.parse(bytes, MAX_BYTES, "image configuration"));
    json.object();
    json.at("os").text();
    json.at("architecture").text();
    json.at("variant").text();
    json.at("os.version").text();
    json.at("rootfs").object();
    json.at("config").object();
    var history = new ArrayList<ImageDetails.HistoryEntry>();
    for (TypedJson entry : json.at("history").items()) {
      history.add(history(entry));
    }
    return new ImageConfig(
        ManifestReader.platform(json.value()),
        instant(json.at("created")),
        diffIds(json.at("rootfs").at("diff_ids")),
        json.at("author").text().orElse(""),
        run(json.at("config")),
        history);
  }

  private static List<Digest> diffIds(TypedJson json) throws InvalidImageException {
    var result = new ArrayList<Digest>();
    for (TypedJson item : json.items()) {
      try {
        result.add(Digest.parse(item.text().orElse("")));
      } catch (AgentException.InvalidSpec e) {
        throw new InvalidImageException(
            "the image configuration has a bad diff id: " + e.getMessage(), e);
      }
    }
    return result;
  }

  private static ImageDetails.RunConfig run(TypedJson json) throws InvalidImageException {
    return new ImageDetails.RunConfig(
        json.at("Entrypoint").texts(),
        json.at("Cmd").texts(),
        json.at("Env").texts(),
        json.at("WorkingDir").text(),
        json.at("User").text(),
        List.copyOf(json.at("ExposedPorts").object().keySet()),
        List.copyOf(json.at("Volumes").object().keySet()),
        json.at("Labels").textMap(),
        json.at("StopSignal").text(),
        healthcheck(json.at("Healthcheck")));
  }

  private static Json healthcheck(TypedJson json) throws InvalidImageException {
    json.object();
    json.at("Test").texts();
    return json.value();
  }

  private static ImageDetails.HistoryEntry history(TypedJson json) throws InvalidImageException {
    json.object();
    return new ImageDetails.HistoryEntry(
        instant(json.at("created")),
        json.at("created_by").text().orElse(""),
        json.at("comment").text().orElse(""),
        json.at("empty_layer").bool().orElse(false));
  }

  private static Optional<Instant> instant(TypedJson json) throws InvalidImageException {
    try {
      return json.text().map(text -> OffsetDateTime.parse(text).toInstant());
    } catch (DateTimeException _) {
      return Optional.empty(); // a builder's odd date is no reason to refuse its image
    }
  }
}
