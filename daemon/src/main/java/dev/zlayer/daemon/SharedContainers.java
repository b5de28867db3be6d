package dev.zlayer.daemon;

import dev.zlayer.container.ContainerId;
import dev.zlayer.daemon.rest.ContainerLookup;
import dev.zlayer.engine.translate.ContainerResolver;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.ContainerRuntime;
import java.util.Optional;

/**
 * Finds the container that {@code container:NAME} means: within a deployment a service of its own,
 * else any container by what people call it.
 */
final class SharedContainers implements ContainerResolver {
  private final ContainerLookup references;

  SharedContainers(ContainerRuntime runtime) {
    this.references = new ContainerLookup(runtime);
  }

  @Override
  public Optional<ContainerId> find(String deployment, String name) {
    return deployment.equals(ContainerId.STANDALONE)
        ? container(name)
        : container(deployment + "/" + name).or(() -> container(name));
  }

  private Optional<ContainerId> container(String reference) {
    try {
      return Optional.of(references.find(reference).id());
    } catch (AgentException.NotFound _) {
      return Optional.empty();
    }
  }
}
