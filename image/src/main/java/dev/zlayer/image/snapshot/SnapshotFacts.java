package dev.zlayer.image.snapshot;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** What is kept beside a snapshot: of which layers it was made, bottom first, and how. */
record SnapshotFacts(boolean overlay, List<Digest> layers) {
  static final StoredFormat FORMAT = StoredFormat.of("the record of a snapshot");

  SnapshotFacts {
    layers = List.copyOf(layers);
  }

  void write(Path file) throws IOException {
    Json json =
        FORMAT
            .begin()
            .put("overlay", overlay)
            .put("layers", layers.stream().map(Digest::toString).toList())
            .build();
    Files.write(file, JsonText.bytes(json));
  }

  /** Of one that is mounted and whose file was damaged: it can be used and removed. */
  static SnapshotFacts unknown() {
    return new SnapshotFacts(true, List.of());
  }

  /** Empty when there is none or when the machine stopped before it reached the disk. */
  static Optional<SnapshotFacts> find(Path file) throws IOException {
    if (!Files.exists(file) || Files.size(file) == 0) {
      return Optional.empty();
    }
    try {
      Json json = JsonText.parse(Files.readAllBytes(file));
      return Optional.of(read(FORMAT.later(json) ? json : FORMAT.upgrade(json, file)));
    } catch (AgentException.InvalidSpec _) {
      return Optional.empty(); // written once, so this can only be from that moment
    }
  }

  /** Of a later version whatever is known here, so that nothing of it is taken for unused. */
  private static SnapshotFacts read(Json json) {
    return new SnapshotFacts(
        json.at("overlay").bool().orElse(true),
        json.at("layers").strings().stream().map(Digest::parse).toList());
  }
}
