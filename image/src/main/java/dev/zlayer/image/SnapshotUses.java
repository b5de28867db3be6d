package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.snapshot.Snapshots;
import dev.zlayer.image.store.InUse;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** A snapshot uses its layers, whoever made it. */
record SnapshotUses(Snapshots snapshots) implements InUse {
  @Override
  public List<Use> uses() {
    try {
      return snapshots.list().stream()
          .map(snapshot -> new Use(snapshot.key(), Optional.empty(), snapshot.layers()))
          .toList();
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "the snapshots cannot be listed: " + e.getMessage(), e);
    }
  }
}
