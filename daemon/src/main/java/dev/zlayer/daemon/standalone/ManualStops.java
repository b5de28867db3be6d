package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import java.nio.charset.StandardCharsets;

/** Containers that a person stopped; {@code unless_stopped} and the supervisors ask for it. */
final class ManualStops {
  private static final String KIND = "standalone.stopped";

  private final StateStore store;

  ManualStops(StateStore store) {
    this.store = store;
  }

  boolean has(ContainerId id) {
    return store.find(KIND, id.path()).isPresent();
  }

  void record(ContainerId id) {
    store.commit(
        Change.of(new Change.Put(KIND, id.path(), "true".getBytes(StandardCharsets.UTF_8))));
  }

  void forget(ContainerId id) {
    store.commit(Change.of(forgotten(id)));
  }

  Change.Delete forgotten(ContainerId id) {
    return new Change.Delete(KIND, id.path());
  }
}
