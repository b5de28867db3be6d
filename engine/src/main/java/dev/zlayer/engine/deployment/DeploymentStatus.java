package dev.zlayer.engine.deployment;

import dev.zlayer.engine.cron.CronStatus;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.service.Failure;
import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.spec.service.DependsSpec;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A deployment, as it is shown.
 *
 * @param revision the newest one
 * @param problem why the whole of it cannot go on: the file cannot be read any more, the network
 *     cannot be made; or why its removal has not ended
 * @param share what of it runs here, when the rest runs on other nodes of a cluster
 * @param autoUpdates by service
 * @param dependencies what its services and jobs wait for
 */
public record DeploymentStatus(
    String name,
    State state,
    long revision,
    Instant createdAt,
    Instant updatedAt,
    Path directory,
    Optional<Share> share,
    List<ServiceStatus> services,
    List<JobStatus> jobs,
    Optional<Failure> problem,
    Map<String, AutoUpdateStatus> autoUpdates,
    List<Dependency> dependencies) {
  public DeploymentStatus {
    services = List.copyOf(services);
    jobs = List.copyOf(jobs);
    autoUpdates = Map.copyOf(autoUpdates);
    dependencies = List.copyOf(dependencies);
  }

  /** One service or job waits for another one. */
  public record Dependency(String from, String to, DependsSpec.Condition condition) {}

  /** Where it stands as a whole; the worst of its services decides. */
  public enum State {
    DEPLOYING,
    RUNNING,
    DEGRADED,
    FAILED,
    REMOVING
  }

  /**
   * A job or a schedule.
   *
   * @param cron where its schedule stands, if it has one
   * @param last its newest execution that is kept
   * @param waitingFor what it waits for before it is run for those who depend on it
   * @param lastError why those who depend on it cannot start
   */
  public record JobStatus(
      JobKey key,
      Optional<CronStatus> cron,
      Optional<Execution> last,
      Optional<String> waitingFor,
      Optional<Failure> lastError) {}
}
