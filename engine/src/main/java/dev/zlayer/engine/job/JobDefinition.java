package dev.zlayer.engine.job;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.job.JobSpec;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A job as its file defines it.
 *
 * @param directory where relative paths start; without it, where its deployment's do
 */
public record JobDefinition(JobKey key, ServiceSpec service, Optional<Path> directory) {
  public JobDefinition(JobKey key, ServiceSpec service) {
    this(key, service, Optional.empty());
  }

  public JobSpec job() {
    return service.job();
  }

  List<JobKey> needs() {
    return job().needs().stream().map(name -> new JobKey(key.deployment(), name)).toList();
  }
}
