package dev.zlayer.engine.translate;

import dev.zlayer.container.ContainerId;
import java.util.Optional;

/** Finds the container that {@code container:ID} means. */
@FunctionalInterface
public interface ContainerResolver {
  Optional<ContainerId> find(String deployment, String id);
}
