package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import java.util.Optional;

/**
 * Who a container is whose own record cannot be read: somebody else has noted it, too. With it the
 * container stays visible and can be removed.
 */
@FunctionalInterface
public interface Identities {
  /** Nobody has noted anything. */
  Identities NONE = _ -> Optional.empty();

  /** What a container was made as. */
  record Identity(ContainerId id, ContainerSpec spec) {}

  /** By the name of its directory. */
  Optional<Identity> find(String runtimeName);
}
