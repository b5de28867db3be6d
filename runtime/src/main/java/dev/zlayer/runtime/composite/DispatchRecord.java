package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;

/**
 * Which runtime a container was given to. The spec is kept so that the container can be shown while
 * its runtime does not answer.
 */
public record DispatchRecord(int version, ContainerId id, String runtime, ContainerSpec spec) {
  static final int VERSION = 1;

  public static DispatchRecord of(ContainerId id, String runtime, ContainerSpec spec) {
    return new DispatchRecord(VERSION, id, runtime, spec);
  }
}
