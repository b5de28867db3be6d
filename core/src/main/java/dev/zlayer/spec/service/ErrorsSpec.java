package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.job.BackoffSpec;

/** What to do when things go wrong. */
@Doc("Error handling.")
public record ErrorsSpec(
    @Doc("Failures of init steps.") @Default("{}") InitFailure onInitFailure,
    @Doc("Failures of the main process.") @Default("{}") Panic onPanic) {
  /** What to do when the init steps fail. */
  @Doc("What to do when the init steps fail.")
  public record InitFailure(
      @Doc("fail at once, restart the steps, or restart them with backoff.") @Default("fail")
          InitFailureAction action,
      @Doc("Maximum number of retries for restart and backoff.")
          @Default("3")
          @Range(min = 0, max = 1000)
          int retries,
      @Doc("Delays for backoff.") @Default("{}") BackoffSpec backoff) {}

  public enum InitFailureAction {
    FAIL,
    RESTART,
    BACKOFF
  }

  /** What to do when the main process ends with an error. */
  @Doc("What to do when the main process ends with an error.")
  public record Panic(
      @Doc("restart the replica, shutdown the service, or isolate the replica from traffic.")
          @Default("restart")
          PanicAction action) {}

  public enum PanicAction {
    RESTART,
    SHUTDOWN,
    ISOLATE
  }
}
