package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerSpec;

/**
 * Says what the container of an execution is: its job's, with the trigger's overrides, references
 * to secrets and variables resolved at this moment.
 */
@FunctionalInterface
public interface JobContainers {
  /** Throws when a part cannot be honoured or a reference cannot be resolved. */
  ContainerSpec spec(JobDefinition job, Overrides overrides);
}
