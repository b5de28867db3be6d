package dev.zlayer.engine.translate;

import dev.zlayer.spec.value.SecretRef;
import java.util.Optional;

/** The secrets that {@code $S:name} may refer to. */
@FunctionalInterface
public interface SecretSource {
  /** The whole secret, as seen from a deployment; its field is taken by the caller. */
  Optional<String> find(String deployment, SecretRef.Scope scope, String name);

  /** Whether it has only those secrets of a deployment that replicas on this node need. */
  default boolean partial(String deployment) {
    return false;
  }
}
