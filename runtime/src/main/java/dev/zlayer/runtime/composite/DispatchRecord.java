package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.json.StoredFormat;

/**
 * Which runtime a container was given to. The spec is kept so that the container can be shown while
 * its runtime does not answer.
 */
public record DispatchRecord(int version, ContainerId id, String runtime, ContainerSpec spec) {
  static final StoredFormat FORMAT = StoredFormat.of("the record of a container");

  public static DispatchRecord of(ContainerId id, String runtime, ContainerSpec spec) {
    return new DispatchRecord(FORMAT.version(), id, runtime, spec);
  }
}
