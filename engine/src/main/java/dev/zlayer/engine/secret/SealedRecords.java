package dev.zlayer.engine.secret;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.SealedStore;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.Set;

/** Records of one kind in the state store, sealed as secrets are and bound to their place. */
public final class SealedRecords implements SealedStore {
  private final StateStore store;
  private final SecretCipher cipher;
  private final String kind;

  /** The key was checked when the secrets were opened with it. */
  public SealedRecords(StateStore store, SecretKey key, String kind) {
    this.store = store;
    this.cipher = new SecretCipher(key);
    this.kind = kind;
  }

  @Override
  public Set<String> keys() {
    return Set.copyOf(store.keys(kind, ""));
  }

  @Override
  public Optional<String> find(String key) {
    return store.find(kind, key).map(found -> open(key, found));
  }

  private String open(String key, byte[] sealed) {
    return cipher
        .open(place(key), sealed)
        .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
        .orElseThrow(
            () ->
                new AgentException.Configuration(
                    "the stored %s %s is damaged".formatted(kind, key)));
  }

  @Override
  public void put(String key, String text) {
    byte[] sealed = cipher.close(place(key), text.getBytes(StandardCharsets.UTF_8));
    store.commit(Change.of(new Change.Put(kind, key, sealed)));
  }

  @Override
  public void remove(String key) {
    store.commit(Change.of(new Change.Delete(kind, key)));
  }

  /** No secret has a name with a line break, so none opens as a record. */
  private String place(String key) {
    return "record\n" + kind + "\n" + key;
  }
}
