package dev.zlayer.spec.job;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.spec.value.ExitCodes;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Settings of what runs to its end. */
@Doc("Settings of a job.")
public record JobSpec(
    @Doc("Maximum number of concurrent runs.") @Default("10") @Range(min = 1, max = 10_000)
        int concurrency,
    @Doc("Maximum number of queued runs; further ones are refused.")
        @Default("1000")
        @Range(min = 0)
        int queue,
    @Doc("Priority; higher numbers run first.") @Default("0") @Range(min = -1000, max = 1000)
        int priority,
    @Doc("Time limit of a run; a run that exceeds it is killed and fails.")
        Optional<Duration> deadline,
    @Doc("Number of retries of a failed run.") @Default("0") @Range(min = 0, max = 1000)
        int retries,
    @Doc("Delays between attempts.") @Default("{}") BackoffSpec backoff,
    @Doc("Action by exit code: retry, fail or succeed. Codes other than 0 are retried by default.")
        Map<ExitCodes, ExitAction> exitCodes,
    @Doc(
            "Number of containers created ahead, so that a run only has to be started (default: 0)."
                + " One that is triggered with other variables or arguments is created then.")
        @Range(min = 0, max = 100)
        Optional<Integer> warm,
    @Doc("Jobs that must complete first.") List<String> needs,
    @Doc("Paths in the container to keep as artifacts.")
        @Text(pattern = "/.*", write = "an absolute path")
        List<String> artifacts,
    @Doc(
            "Maximum size of one artifact; a larger one is not kept. Holes in sparse files do not "
                + "count.")
        @Default("1Gi")
        ByteSize maxArtifactSize,
    @Doc("Maximum output kept per run; the middle of longer output is dropped.") @Default("1Mi")
        ByteSize maxLogSize,
    @Doc("How long results are kept.") @Default("{}") RetentionSpec retention) {
  /** The same for whoever is told when to run it. */
  public JobSpec withoutNeeds() {
    return new JobSpec(
        concurrency,
        queue,
        priority,
        deadline,
        retries,
        backoff,
        exitCodes,
        warm,
        List.of(),
        artifacts,
        maxArtifactSize,
        maxLogSize,
        retention);
  }

  /** How many containers are created ahead. */
  public int ahead() {
    return warm.orElse(0);
  }
}
