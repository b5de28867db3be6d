package dev.zlayer.engine.deployment;

/**
 * What the operator sets for all deployments of a node.
 *
 * @param starts replicas that are started at the same time; the number of cores is a good choice
 * @param revisions newest revisions of a deployment that are kept; those in use are kept as well
 */
public record DeploymentConfig(int starts, int revisions) {
  public static final DeploymentConfig DEFAULT = new DeploymentConfig(4, 20);

  public DeploymentConfig withStarts(int starts) {
    return new DeploymentConfig(starts, revisions);
  }
}
