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
    @Doc("Runs at the same time.") @Default("10") @Range(min = 1, max = 10_000) int concurrency,
    @Doc("Runs that may wait; one more is refused.") @Default("1000") @Range(min = 0) int queue,
    @Doc("Jobs with a higher number leave the queue first.")
        @Default("0")
        @Range(min = -1000, max = 1000)
        int priority,
    @Doc("A run that takes longer is killed and has failed.") Optional<Duration> deadline,
    @Doc("How often a failed run is tried again.") @Default("0") @Range(min = 0, max = 1000)
        int retries,
    @Doc("Pauses between the attempts.") @Default("{}") BackoffSpec backoff,
    @Doc("What an exit code means: retry, fail or succeed. Others than 0 are retried.")
        Map<ExitCodes, ExitAction> exitCodes,
    @Doc("Jobs that must have completed before.") List<String> needs,
    @Doc("Paths in the container that are kept with the result.")
        @Text(pattern = "/.*", write = "an absolute path")
        List<String> artifacts,
    @Doc("Size of one artifact's archive; a larger one is not kept. Holes of files do not count.")
        @Default("1Gi")
        ByteSize maxArtifactSize,
    @Doc("Output kept per run; the middle of longer output is dropped.") @Default("1Mi")
        ByteSize maxLogSize,
    @Doc("How long results are kept.") @Default("{}") RetentionSpec retention) {}
