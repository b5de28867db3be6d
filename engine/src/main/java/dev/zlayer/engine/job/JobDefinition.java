package dev.zlayer.engine.job;

import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.job.CronSpec;
import dev.zlayer.spec.job.JobSpec;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A job as its file defines it.
 *
 * @param directory where relative paths start; without it, where its deployment's do
 * @param claimed its containers run in one place of a cluster only, by a claim of this node
 */
public record JobDefinition(
    JobKey key, ServiceSpec service, Optional<Path> directory, boolean claimed) {
  public JobDefinition(JobKey key, ServiceSpec service, Optional<Path> directory) {
    this(key, service, directory, false);
  }

  public JobDefinition(JobKey key, ServiceSpec service) {
    this(key, service, Optional.empty());
  }

  /** Of a cluster: runs of a schedule that forbids overlaps never overlap between nodes. */
  public JobDefinition shared() {
    boolean exclusive =
        service.rtype() == RunType.CRON && service.cron().overlap() == CronSpec.Overlap.FORBID;
    return new JobDefinition(key, service, directory, exclusive);
  }

  public JobSpec job() {
    return service.job();
  }

  List<JobKey> needs() {
    return job().needs().stream().map(name -> new JobKey(key.deployment(), name)).toList();
  }
}
