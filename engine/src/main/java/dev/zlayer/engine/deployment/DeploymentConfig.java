package dev.zlayer.engine.deployment;

/**
 * What the operator sets for all deployments of a node.
 *
 * @param starts replicas that are started at the same time
 * @param revisions newest revisions of a deployment that are kept; those in use are kept as well
 * @param cores of the machine; what a replica without a cpu limit can use
 */
public record DeploymentConfig(int starts, int revisions, int cores) {
  public static final DeploymentConfig DEFAULT = new DeploymentConfig(4, 20, 1);

  /** A start waits for other processes and for the disk, so each core takes several. */
  private static final int STARTS_PER_CORE = 4;

  /** Beyond this they only wait for each other in the kernel. */
  private static final int MOST_STARTS = 32;

  /** As a machine with so many cores can bear it. */
  public static DeploymentConfig forCores(int cores) {
    int known = Math.max(1, cores);
    return new DeploymentConfig(
        Math.min(MOST_STARTS, STARTS_PER_CORE * known), DEFAULT.revisions(), known);
  }
}
