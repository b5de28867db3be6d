package dev.zlayer.engine.deployment;

import java.util.List;

/** The named volumes of deployments, for {@code down --volumes}. */
@FunctionalInterface
public interface DeploymentVolumes {
  /** Leaves every volume where it is. */
  DeploymentVolumes KEPT = (_, _) -> {};

  /**
   * Removes the volumes that the files of a deployment ever named; those that are not there or that
   * another deployment uses are left alone. Called after the last container is gone.
   */
  void remove(String deployment, List<String> names) throws InterruptedException;
}
