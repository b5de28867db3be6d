package dev.zlayer.engine.init;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.port.Container;
import dev.zlayer.spec.service.ErrorsSpec;
import dev.zlayer.spec.service.InitSpec;

/** Does what has to be done before a container starts, and what takes that back at its end. */
@FunctionalInterface
public interface Initializer {
  /** Role of the containers that init steps run in. */
  String ROLE = "init";

  /**
   * Whose steps to run.
   *
   * @param owner the container that will be started afterwards
   * @param container what that container is
   */
  record Request(
      ContainerId owner,
      ContainerSpec container,
      InitSpec init,
      ErrorsSpec.InitFailure onFailure) {}

  /** The container in which a step, counted from 0, runs for {@code owner}. */
  static ContainerId helper(ContainerId owner, int step) {
    return new ContainerId(owner.deployment(), owner.service(), ROLE, step + 1, owner.generation());
  }

  /**
   * Returns when all steps are done, or those that failed do not matter. Leaves no process and no
   * helper container behind, also when interrupted.
   *
   * @throws dev.zlayer.error.AgentException.InitActionFailed a step failed; it is named
   * @throws dev.zlayer.error.AgentException.Timeout a step took too long; it is named
   */
  void run(Request request, InitObserver observer) throws InterruptedException;

  /**
   * Brings what a container, made and not yet started, is to find in its copies of buckets.
   *
   * @throws dev.zlayer.error.AgentException.Network a store refused or could not be reached
   */
  default void fetch(Container made, InitObserver observer) throws InterruptedException {}

  /** Whether {@link #deliver} has anything to do for the container. */
  default boolean delivers(Container ended) {
    return false;
  }

  /**
   * Takes back to their buckets the copies of a container that has ended. Can be done again.
   *
   * @throws dev.zlayer.error.AgentException.Network a store refused or could not be reached
   */
  default void deliver(Container ended, InitObserver observer) throws InterruptedException {}
}
