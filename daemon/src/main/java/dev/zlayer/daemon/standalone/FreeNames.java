package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/** Names that no container has. */
final class FreeNames {
  private static final Pattern NAME = Pattern.compile("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}");

  private final ContainerRuntime runtime;

  FreeNames(ContainerRuntime runtime) {
    this.runtime = runtime;
  }

  static String checked(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a name: use letters, digits, dots, hyphens and underscores".formatted(name));
    }
    return name;
  }

  void require(String name) {
    for (Container other : runtime.list()) {
      try {
        if (DisplayName.matches(other, name)) {
          throw new AgentException.Conflict(
              "the name '%s' is taken: remove that container first, or choose another"
                  .formatted(name));
        }
      } catch (AgentException.NotFound _) {
        // removed meanwhile
      }
    }
  }

  /** One that was renamed keeps the identity that its first name gave it. */
  ContainerId id(String name) {
    ContainerId id = ContainerId.of(ContainerId.STANDALONE, name, 1);
    while (runtime.find(id).isPresent()) {
      id = id.withGeneration(id.generation() + 1);
    }
    return id;
  }

  static String any() {
    return "run-"
        + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong()).substring(0, 8);
  }
}
