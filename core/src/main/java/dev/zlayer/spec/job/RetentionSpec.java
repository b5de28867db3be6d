package dev.zlayer.spec.job;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Shorthand;
import dev.zlayer.spec.value.ByteSize;
import java.time.Duration;

/** How long results are kept. */
@Doc("How long results and logs of finished runs are kept.")
@Shorthand(value = "age", as = "a duration")
public record RetentionSpec(
    @Doc("Successful runs are dropped after this time.") @Default("1h") Duration age,
    @Doc("Failed runs are dropped after this time.") @Default("24h") Duration failedAge,
    @Doc("Maximum number of runs kept.") @Default("1000") @Range(min = 1) int count,
    @Doc("Maximum total size of logs and artifacts kept.") @Default("1Gi") ByteSize bytes) {}
