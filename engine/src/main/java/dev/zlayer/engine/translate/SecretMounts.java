package dev.zlayer.engine.translate;

import dev.zlayer.container.Mount;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.security.SecretFileSpec;

/** Puts secrets where a container can mount them. */
@FunctionalInterface
public interface SecretMounts {
  /** For agents that keep no secrets as files. */
  SecretMounts NONE =
      (file, _) -> {
        throw new AgentException.Unsupported(
            "secrets: this agent does not mount secrets as files, use env for " + file.name());
      };

  /** The file of a secret with this value; the same value gives the same mount. */
  Mount file(SecretFileSpec file, String value);
}
