package dev.zlayer.engine.translate;

import java.util.Optional;

/** The variables of the agent that {@code $E:NAME} may refer to. */
@FunctionalInterface
public interface EnvSource {
  Optional<String> find(String name);
}
