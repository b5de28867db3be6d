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

/** The configuration blob of an image: its platform, its layers as unpacked, how to run it. */
public record ImageConfig(
    Optional<Platform> platform,
    Optional<Instant> createdAt,
    List<Digest> diffIds,
    ImageDetails.RunConfig run,
    List<ImageDetails.HistoryEntry> history) {
  public static final int MAX_BYTES = 8 << 20;

  public ImageConfig {
    diffIds = List.copyOf(diffIds);
    history = List.copyOf(history);
  }

  public static ImageConfig read(byte[] bytes) throws UnsoundException {
    Json json = ManifestReader.parse(bytes, MAX_BYTES, "image configuration");
    return new ImageConfig(
        ManifestReader.platform(json),
        instant(json.at("created")),
        diffIds(json.at("rootfs").at("diff_ids")),
        run(json.at("config")),
        json.at("history").items().stream().map(ImageConfig::history).toList());
  }

  private static List<Digest> diffIds(Json json) throws UnsoundException {
    var result = new ArrayList<Digest>();
    for (Json item : json.items()) {
      try {
        result.add(Digest.parse(item.string().orElse("")));
      } catch (AgentException.InvalidSpec e) {
        throw new UnsoundException(
            "the image configuration has a bad diff id: " + e.getMessage(), e);
      }
    }
    return result;
  }

  private static ImageDetails.RunConfig run(Json json) {
    return new ImageDetails.RunConfig(
        json.at("Entrypoint").strings(),
        json.at("Cmd").strings(),
        json.at("Env").strings(),
        text(json.at("WorkingDir")),
        text(json.at("User")),
        List.copyOf(json.at("ExposedPorts").members().keySet()),
        List.copyOf(json.at("Volumes").members().keySet()),
        json.at("Labels").stringMap(),
        text(json.at("StopSignal")));
  }

  private static ImageDetails.HistoryEntry history(Json json) {
    return new ImageDetails.HistoryEntry(
        instant(json.at("created")),
        json.at("created_by").string().orElse(""),
        json.at("comment").string().orElse(""),
        json.at("empty_layer").bool().orElse(false));
  }

  private static Optional<String> text(Json json) {
    return json.string().filter(value -> !value.isEmpty());
  }

  private static Optional<Instant> instant(Json json) {
    try {
      return json.string().map(text -> OffsetDateTime.parse(text).toInstant());
    } catch (DateTimeException _) {
      return Optional.empty(); // a builder's odd date is no reason to refuse its image
    }
  }
}
