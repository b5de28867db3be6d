package dev.zlayer.runtime.composite;

import dev.zlayer.error.AgentException;

/** Where trouble goes that does not fail the call it happened in. */
@FunctionalInterface
public interface Reports {
  Reports LOGGED =
      (runtime, doing, trouble) ->
          System.getLogger(CompositeRuntime.class.getName())
              .log(
                  System.Logger.Level.WARNING,
                  "runtime '%s' failed while %s: %s"
                      .formatted(runtime, doing, trouble.getMessage()));

  void trouble(String runtime, String doing, AgentException trouble);
}
