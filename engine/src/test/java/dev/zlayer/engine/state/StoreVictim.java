package dev.zlayer.engine.state;

import java.nio.file.Path;

/** A process that commits without end and tells every commit that returned, until it is killed. */
final class StoreVictim {
  private StoreVictim() {}

  public static void main(String[] arguments) {
    try (var store = SqliteStateStore.open(Path.of(arguments[0]), StoreConfig.DEFAULT)) {
      for (long n = Long.parseLong(arguments[1]); ; n++) {
        String key = "%012d".formatted(n);
        store.commit(
            new Change(
                java.util.List.of(new Change.Put("job", key, StateStoreContract.bytes(key))),
                java.util.List.of(StateStoreContract.event("put", key))));
        System.out.println(key);
      }
    }
  }
}
