package dev.zlayer.engine.state;

import java.nio.file.Path;
import java.util.List;

/** Writes the store that later versions have to open; run once per version, by hand. */
final class WriteFixture {
  private WriteFixture() {}

  public static void main(String[] arguments) {
    Path file = Path.of(arguments[0]);
    try (var store = SqliteStateStore.open(file, StoreConfig.DEFAULT)) {
      for (int i = 1; i <= 2; i++) {
        String key = i == 1 ? "first" : "second";
        store.commit(
            new Change(
                List.of(
                    new Change.Put(
                        "job", key, StateStoreContract.bytes("{\"n\":%d}".formatted(i)))),
                List.of(StateStoreContract.event("made", key))));
      }
      store.commit(Change.of(StateStoreContract.event("done", "all")));
    }
  }
}
