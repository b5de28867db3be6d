package dev.zlayer.engine.deployment;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.process.ClaimDirectory;
import dev.zlayer.port.Claims;

/**
 * What the operator sets for all deployments of a node.
 *
 * @param starts replicas that are started at the same time
 * @param revisions newest revisions of a deployment that are kept; those in use are kept as well
 * @param cores of the machine; what a replica without a cpu limit can use
 * @param claims that this node has in its cluster
 */
public record DeploymentConfig(int starts, int revisions, int cores, Claims claims) {
  public static final DeploymentConfig DEFAULT = new DeploymentConfig(4, 20, 1, Claims.NONE);

  /** A start waits for other processes and for the disk, so each core takes several. */
  private static final int STARTS_PER_CORE = 4;

  /** Beyond this they only wait for each other in the kernel. */
  private static final int MOST_STARTS = 32;

  /** As this machine can bear it, with the claims that are kept there. */
  public static DeploymentConfig of(DataDir dirs) {
    int known = Runtime.getRuntime().availableProcessors();
    return new DeploymentConfig(
        Math.min(MOST_STARTS, STARTS_PER_CORE * known),
        DEFAULT.revisions(),
        known,
        new ClaimDirectory(dirs.claims()));
  }
}
