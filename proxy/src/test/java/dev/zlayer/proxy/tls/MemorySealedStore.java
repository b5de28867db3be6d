package dev.zlayer.proxy.tls;

import dev.zlayer.port.SealedStore;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Outlives the certificates that are opened on it, as a disk does. */
final class MemorySealedStore implements SealedStore {
  private final Map<String, String> texts = new ConcurrentHashMap<>();

  @Override
  public Set<String> keys() {
    return Set.copyOf(texts.keySet());
  }

  @Override
  public Optional<String> find(String key) {
    return Optional.ofNullable(texts.get(key));
  }

  @Override
  public void put(String key, String text) {
    texts.put(key, text);
  }

  @Override
  public void remove(String key) {
    texts.remove(key);
  }
}
