package dev.zlayer.cli.command.store;

import dev.zlayer.cli.client.Query;
import dev.zlayer.error.AgentException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A secret as a person names it: {@code name}, or {@code @service/name} for a secret of one service
 * of a deployment.
 */
record SecretPath(String name, Optional<String> deployment, Optional<String> service) {
  static SecretPath parse(String text, @Nullable String deployment) {
    Optional<String> owner = Optional.ofNullable(deployment);
    if (!text.startsWith("@")) {
      if (text.indexOf('/') >= 0) {
        throw new AgentException.InvalidSpec(
            "'%s' is not a secret; write its name and --deployment NAME, or @service/name"
                .formatted(text));
      }
      return new SecretPath(text, owner, Optional.empty());
    }
    int slash = text.indexOf('/');
    if (slash < 2 || slash == text.length() - 1) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a secret of a service; write @service/name".formatted(text));
    }
    if (owner.isEmpty()) {
      throw new AgentException.InvalidSpec(
          "'%s' is a secret of a service; add --deployment NAME".formatted(text));
    }
    return new SecretPath(text.substring(slash + 1), owner, Optional.of(text.substring(1, slash)));
  }

  String path() {
    return "/secrets/" + Query.segment(name);
  }

  /** {@code local} means the secret of the node that is asked, not that of its cluster. */
  Query query(boolean local) {
    return Query.NONE
        .andIf("deployment", deployment)
        .andIf("service", service)
        .flag("local", local);
  }
}
