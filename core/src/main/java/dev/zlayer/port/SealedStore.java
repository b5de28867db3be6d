package dev.zlayer.port;

import java.util.Optional;
import java.util.Set;

/**
 * Small durable texts that nobody reads without the key of the secrets: private keys and what
 * belongs to them. May be used from any thread.
 */
public interface SealedStore {
  Set<String> keys();

  /**
   * What was put under a key.
   *
   * @throws dev.zlayer.error.AgentException.Configuration it was changed, moved, or sealed with
   *     another key
   */
  Optional<String> find(String key);

  /** Durable when it returns. */
  void put(String key, String text);

  /** Does nothing when there is none. */
  void remove(String key);
}
