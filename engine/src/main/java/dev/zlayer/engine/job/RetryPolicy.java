package dev.zlayer.engine.job;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.job.BackoffSpec;
import dev.zlayer.spec.job.ExitAction;
import dev.zlayer.spec.job.JobSpec;
import dev.zlayer.task.Backoff;
import java.time.Duration;
import java.util.OptionalInt;

/** What the end of an attempt means for its execution. Pure. */
final class RetryPolicy {
  /** The meaning. */
  sealed interface Verdict {
    record Done(int code) implements Verdict {}

    record Again(Duration pause) implements Verdict {}

    record GivenUp(String reason) implements Verdict {}
  }

  private RetryPolicy() {}

  /** {@code attempt} is the number of the one that ended. */
  static Verdict judge(JobSpec job, int attempt, AttemptEnd end) {
    if (end.error().isPresent()) {
      AgentException error = end.error().get();
      String reason = end.reason().orElseThrow();
      return worthTrying(error)
          ? againOrGivenUp(job, attempt, reason)
          : new Verdict.GivenUp(reason);
    }
    ExitStatus exit =
        end.outcome()
            .map(outcome -> outcome.status())
            .orElseGet(() -> new ExitStatus.Unknown("it never ran"));
    OptionalInt code = exit.exitCode();
    return switch (action(job, code)) {
      case SUCCEED -> new Verdict.Done(code.orElseThrow());
      case FAIL -> new Verdict.GivenUp(exit.text());
      case RETRY -> againOrGivenUp(job, attempt, exit.text());
    };
  }

  private static ExitAction action(JobSpec job, OptionalInt code) {
    if (code.isEmpty()) {
      return ExitAction.RETRY;
    }
    return job.exitCodes().entrySet().stream()
        .filter(entry -> entry.getKey().contains(code.getAsInt()))
        .map(java.util.Map.Entry::getValue)
        .findFirst()
        .orElse(code.getAsInt() == 0 ? ExitAction.SUCCEED : ExitAction.RETRY);
  }

  private static Verdict againOrGivenUp(JobSpec job, int attempt, String reason) {
    return attempt <= job.retries()
        ? new Verdict.Again(backoff(job.backoff()).delay(attempt - 1))
        : new Verdict.GivenUp(reason);
  }

  /** What somebody else or another try may mend; a wrong request stays wrong. */
  private static boolean worthTrying(AgentException error) {
    return switch (error.blame()) {
      case WORKLOAD, OUTSIDE -> true;
      case REQUEST, PLACEMENT, SELF -> false;
    };
  }

  static Backoff backoff(BackoffSpec spec) {
    Duration max = spec.max().compareTo(spec.initial()) < 0 ? spec.initial() : spec.max();
    return new Backoff(spec.initial(), max, Math.max(1, spec.factor()));
  }
}
