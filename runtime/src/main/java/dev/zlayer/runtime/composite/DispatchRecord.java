package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.json.StoredFormat;
import java.util.function.UnaryOperator;

/**
 * Which runtime a container was given to. The spec is kept so that the container can be shown while
 * its runtime does not answer.
 */
public record DispatchRecord(int version, ContainerId id, String runtime, ContainerSpec spec) {
  /**
   * Since version 2 a spec can have users of its own, since version 3 logs in memory, since version
   * 4 named GPUs and limits on shared ones, since version 5 devices under other paths and rules for
   * them, since version 6 parts of volumes and binds that pass mounts on.
   */
  static final StoredFormat FORMAT =
      StoredFormat.of(
          "the record of a container",
          UnaryOperator.identity(),
          UnaryOperator.identity(),
          UnaryOperator.identity(),
          UnaryOperator.identity(),
          UnaryOperator.identity());

  public static DispatchRecord of(ContainerId id, String runtime, ContainerSpec spec) {
    return new DispatchRecord(FORMAT.version(), id, runtime, spec);
  }
}
