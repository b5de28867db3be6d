package dev.zlayer.engine.job;

import dev.zlayer.spec.job.BackoffSpec;
import dev.zlayer.spec.job.JobSpec;
import dev.zlayer.spec.job.RetentionSpec;
import dev.zlayer.spec.value.ByteSize;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The settings of a job whose definition is gone while executions of it are still there. */
final class JobDefaults {
  static final JobSpec SPEC =
      new JobSpec(
          10,
          1000,
          0,
          Optional.empty(),
          0,
          new BackoffSpec(Duration.ofSeconds(1), Duration.ofSeconds(60), 2),
          Map.of(),
          Optional.empty(),
          List.of(),
          List.of(),
          new ByteSize(1L << 30),
          new ByteSize(1 << 20),
          new RetentionSpec(
              Duration.ofHours(1), Duration.ofHours(24), 1000, new ByteSize(1L << 30)));

  private JobDefaults() {}
}
