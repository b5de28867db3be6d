package dev.zlayer.engine.job;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.job.JobSpec;
import java.util.List;

/** A job as its deployment file defines it. */
public record JobDefinition(JobKey key, ServiceSpec service) {
  public JobSpec job() {
    return service.job();
  }

  List<JobKey> needs() {
    return job().needs().stream().map(name -> new JobKey(key.deployment(), name)).toList();
  }
}
