package dev.zlayer.engine.deployment;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import java.nio.charset.StandardCharsets;
import java.util.random.RandomGenerator;

/**
 * A text that belongs to one store. It goes into the hashes that containers carry, so that nobody
 * who sees a hash can find the secret behind it by trying.
 */
final class StoreSalt {
  private static final String KIND = "service.salt";
  private static final String KEY = "salt";

  private StoreSalt() {}

  static String of(StateStore store, RandomGenerator random) {
    return store
        .find(KIND, KEY)
        .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
        .orElseGet(() -> made(store, random));
  }

  private static String made(StateStore store, RandomGenerator random) {
    String salt = Long.toHexString(random.nextLong()) + Long.toHexString(random.nextLong());
    store.commit(Change.of(new Change.Put(KIND, KEY, salt.getBytes(StandardCharsets.UTF_8))));
    return salt;
  }
}
