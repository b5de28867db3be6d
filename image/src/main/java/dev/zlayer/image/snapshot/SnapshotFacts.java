package dev.zlayer.image.snapshot;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** What is kept beside a snapshot: of which layers it was made, bottom first, and how. */
record SnapshotFacts(boolean overlay, List<Digest> layers) {
  private static final int VERSION = 1;

  SnapshotFacts {
    layers = List.copyOf(layers);
  }

  void write(Path file) throws IOException {
    Json json =
        Json.object()
            .put("version", VERSION)
            .put("overlay", overlay)
            .put("layers", layers.stream().map(Digest::toString).toList())
            .build();
    Files.write(file, JsonText.bytes(json));
  }

  /** Empty when there is none or when the machine stopped before it reached the disk. */
  static Optional<SnapshotFacts> find(Path file) throws IOException {
    if (!Files.exists(file) || Files.size(file) == 0) {
      return Optional.empty();
    }
    Json json;
    try {
      json = JsonText.parse(Files.readAllBytes(file));
    } catch (AgentException.InvalidSpec _) {
      return Optional.empty(); // written once, so this can only be from that moment
    }
    if (json.at("version").integer().orElse(0L) != VERSION) {
      throw new IOException(file + " is of a version this program does not know");
    }
    return Optional.of(
        new SnapshotFacts(
            json.at("overlay").bool().orElse(true),
            json.at("layers").strings().stream().map(Digest::parse).toList()));
  }
}
