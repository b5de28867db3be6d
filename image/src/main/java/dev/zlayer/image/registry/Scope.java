package dev.zlayer.image.registry;

import java.util.List;
import java.util.Optional;

/**
 * What a token has to be good for.
 *
 * @param mountFrom another repository of the registry that blobs are taken from
 */
record Scope(String actions, Optional<String> mountFrom) {
  static final Scope PULL = new Scope("pull", Optional.empty());
  static final Scope PUSH = new Scope("pull,push", Optional.empty());

  /** Only to be known as somebody. */
  static final Scope LOGIN = new Scope("", Optional.empty());

  static Scope mounting(String repository) {
    return new Scope(PUSH.actions, Optional.of(repository));
  }

  /** In the words of token services. */
  List<String> words(String repository) {
    if (actions.isEmpty()) {
      return List.of();
    }
    String own = repository + ":" + actions;
    return mountFrom.map(from -> List.of(own, "repository:" + from + ":pull")).orElse(List.of(own));
  }
}
