package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Records of one kind in the store, by container. Few containers have one and all are asked for it
 * again and again, so they are in memory as well, and no commit is made to delete what is not
 * there.
 */
final class StoredNotes {
  private final StateStore store;
  private final String kind;
  private final Map<String, byte[]> notes = new ConcurrentHashMap<>();

  StoredNotes(StateStore store, String kind) {
    this.store = store;
    this.kind = kind;
    store.list(kind, "").forEach(entry -> notes.put(entry.key(), entry.value()));
  }

  Optional<byte[]> find(ContainerId id) {
    return Optional.ofNullable(notes.get(id.path()));
  }

  /** One change at a time, so that memory has what was committed last. */
  synchronized void put(ContainerId id, byte[] note) {
    store.commit(Change.of(new Change.Put(kind, id.path(), note)));
    notes.put(id.path(), note);
  }

  synchronized void forget(ContainerId id) {
    if (notes.containsKey(id.path())) {
      store.commit(Change.of(new Change.Delete(kind, id.path())));
      notes.remove(id.path());
    }
  }
}
