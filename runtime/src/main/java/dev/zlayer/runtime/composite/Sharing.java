package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Namespaces of other containers, which only one and the same runtime can share. Pure. */
final class Sharing {
  private Sharing() {}

  /**
   * Makes sure that one runtime has both.
   *
   * @param owner the name of the runtime that was given a container
   * @throws AgentException.Unsupported another runtime has the other container; names both
   */
  static void check(
      ContainerId id,
      ContainerSpec spec,
      String chosen,
      Function<ContainerId, Optional<String>> owner) {
    shared(spec)
        .forEach(
            (what, other) ->
                owner
                    .apply(other)
                    .filter(runtime -> !runtime.equals(chosen))
                    .ifPresent(
                        runtime -> {
                          throw new AgentException.Unsupported(
                              "container '%s' cannot share the %s namespace of '%s': the runtime '%s' would run it, and '%s' runs the other one; send both to one runtime with the label %s"
                                  .formatted(
                                      id, what, other, chosen, runtime, Selection.ISOLATION_LABEL));
                        }));
  }

  /** Whose, by the kind of namespace. */
  private static Map<String, ContainerId> shared(ContainerSpec spec) {
    Map<String, ContainerId> shared = new LinkedHashMap<>();
    if (spec.network().mode() instanceof NetworkSpec.Mode.Shared(var with)) {
      shared.put("network", with);
    }
    if (spec.security().pid() instanceof SecuritySpec.Namespace.Shared(var with)) {
      shared.put("pid", with);
    }
    if (spec.security().ipc() instanceof SecuritySpec.Namespace.Shared(var with)) {
      shared.put("ipc", with);
    }
    return shared;
  }
}
