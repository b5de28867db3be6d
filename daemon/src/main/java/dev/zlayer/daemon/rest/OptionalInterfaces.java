package dev.zlayer.daemon.rest;

import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;

/** Optional powers of containers. */
final class OptionalInterfaces {
  private OptionalInterfaces() {}

  /** Throws {@link AgentException.Unsupported} that completes "containers cannot be ...". */
  static <T> T of(Container container, Class<T> power, String done) {
    if (!power.isInstance(container)) {
      throw new AgentException.Unsupported(
          "containers of runtime '%s' cannot be %s".formatted(container.inspect().runtime(), done));
    }
    return power.cast(container);
  }
}
