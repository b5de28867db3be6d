package dev.zlayer.engine.deployment;

/**
 * What the operator sets for all deployments of a node.
 *
 * @param starts replicas that are started at the same time; the number of cores is a good choice
 * @param revisions newest revisions of a deployment that are kept; those in use are kept as well
 * @param cores of the machine; what a replica without a cpu limit can use
 */
public record DeploymentConfig(int starts, int revisions, int cores) {
  public static final DeploymentConfig DEFAULT = new DeploymentConfig(4, 20, 1);

  /** As a machine with so many cores can bear it. */
  public static DeploymentConfig forCores(int cores) {
    return new DeploymentConfig(Math.max(2, cores), DEFAULT.revisions(), Math.max(1, cores));
  }
}
