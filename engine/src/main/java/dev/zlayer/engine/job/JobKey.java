package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerId;
import dev.zlayer.error.AgentException;
import java.util.Comparator;

/**
 * Names a job or a schedule within its deployment.
 *
 * @param deployment {@link #NONE} for a job that belongs to no deployment
 */
public record JobKey(String deployment, String name) implements Comparable<JobKey> {
  /** No deployment can have this name. */
  public static final String NONE = ContainerId.NO_DEPLOYMENT;

  private static final Comparator<JobKey> ORDER =
      Comparator.comparing(JobKey::deployment).thenComparing(JobKey::name);

  /** A job that belongs to no deployment. */
  public static JobKey single(String name) {
    return new JobKey(NONE, name);
  }

  /** What to do when there is no such job. */
  public AgentException.NotFound notFound() {
    return new AgentException.NotFound(
        "job '" + this + "'",
        single() ? "write deployment/job, or run a file: 'job run -f FILE'" : "deploy it first");
  }

  /** Whether it belongs to no deployment. */
  public boolean single() {
    return deployment.equals(NONE);
  }

  @Override
  public int compareTo(JobKey other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return single() ? name : deployment + "/" + name;
  }
}
