package dev.zlayer.image.registry;

import dev.zlayer.port.RegistryAuth;
import java.util.Optional;

/** Who we are at a registry host. */
@FunctionalInterface
public interface Credentials {
  Credentials NONE = _ -> Optional.empty();

  /** Blocks when a program has to be asked. */
  Optional<RegistryAuth> find(String host) throws InterruptedException;

  /** These, and where they have nothing, the others. */
  default Credentials or(Credentials others) {
    return host -> {
      Optional<RegistryAuth> own = find(host);
      return own.isPresent() ? own : others.find(host);
    };
  }
}
