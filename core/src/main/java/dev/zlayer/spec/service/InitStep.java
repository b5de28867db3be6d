package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Inline;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Text;
import java.time.Duration;

/** One step before the main process starts. */
@Doc("One step: an action with its parameters.")
public record InitStep(
    @Doc("Name of the step, for messages.") @Text(pattern = ".*\\S.*", write = "a name") String id,
    @Doc("Action and its parameters.") @Inline InitAction action,
    @Doc("Number of retries after a failure.") @Default("0") @Range(min = 0, max = 100) int retry,
    @Doc("Time limit of the step.") @Default("300s") Duration timeout,
    @Doc("What to do on failure: fail, warn and continue, or continue silently.") @Default("fail")
        OnFailure onFailure) {
  /** What the failure of a step means. */
  public enum OnFailure {
    FAIL,
    WARN,
    CONTINUE
  }
}
