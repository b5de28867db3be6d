package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.spec.ServiceSpec;
import java.nio.file.Path;

/**
 * Says what the containers of a service are, references to secrets and variables resolved at this
 * moment.
 */
@FunctionalInterface
public interface ReplicaContainers {
  /** Throws when a part cannot be honoured or a reference cannot be resolved. */
  ContainerSpec spec(String deployment, String name, ServiceSpec service, Path directory)
      throws InterruptedException;

  /** As {@link #spec}, for a service without replicas: nothing has to be set up for them yet. */
  default ContainerSpec outline(String deployment, String name, ServiceSpec service, Path directory)
      throws InterruptedException {
    return spec(deployment, name, service, directory);
  }
}
