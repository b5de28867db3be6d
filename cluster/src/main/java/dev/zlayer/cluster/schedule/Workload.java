package dev.zlayer.cluster.schedule;

import dev.zlayer.spec.resources.GpuSpec;
import java.util.Optional;

/**
 * Replicas that are wanted and that all ask for the same: a service, one of its roles, or one
 * execution of a job.
 *
 * @param id of its kind among all deployments, such as {@code shop/web}
 * @param revision of what its replicas are made from; a placement of another one is out of date
 * @param replicas numbered from 1
 * @param gang all that are missing are placed, or none
 * @param singleInstance never placed while an earlier placement may still run
 */
public record Workload(
    String id,
    String revision,
    int replicas,
    Demand demand,
    Constraints constraints,
    Rollout rollout,
    boolean gang,
    boolean singleInstance,
    Optional<Distributed> distributed) {
  public Workload {
    if (replicas < 0 || (singleInstance && replicas > 1)) {
      throw new IllegalArgumentException(id + " cannot have " + replicas + " replicas");
    }
  }

  /**
   * How many may be missing, and how many more there may be, while replicas are replaced.
   *
   * @param maxSurge at least one of the two is 1, else nothing could ever be replaced
   */
  public record Rollout(int maxUnavailable, int maxSurge) {
    public static final Rollout START_FIRST = new Rollout(0, 1);

    public Rollout {
      if (maxUnavailable + maxSurge < 1) {
        maxSurge = 1;
      }
    }
  }

  /**
   * Replicas that compute together.
   *
   * @param service the name by which replicas reach each other
   */
  public record Distributed(String service, GpuSpec.Backend backend, int masterPort) {}
}
