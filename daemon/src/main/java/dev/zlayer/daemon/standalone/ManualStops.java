package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.engine.state.StateStore;
import java.nio.charset.StandardCharsets;

/** Containers that a person stopped; {@code unless_stopped} and the supervisors ask for it. */
final class ManualStops {
  private static final byte[] STOPPED = "true".getBytes(StandardCharsets.UTF_8);

  private final StoredNotes notes;

  ManualStops(StateStore store) {
    this.notes = new StoredNotes(store, "standalone.stopped");
  }

  boolean has(ContainerId id) {
    return notes.find(id).isPresent();
  }

  void record(ContainerId id) {
    notes.put(id, STOPPED);
  }

  void forget(ContainerId id) {
    notes.forget(id);
  }
}
