package dev.zlayer.daemon.rest.view;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.engine.init.StepReport;
import dev.zlayer.engine.job.Attempt;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.ExecutionStatus;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.Trigger;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * One execution of a job.
 *
 * @param name what people call it: deployment/job/number
 * @param status pending, initializing, running, uploading, completed, failed or cancelled; in a
 *     cluster also lost
 * @param code as a shell shows it, when its process has ended
 * @param trigger cli, endpoint, scheduler or internal
 * @param remote who asked, of an endpoint
 * @param because what for, of the agent itself
 */
public record ExecutionView(
    ExecutionId id,
    String name,
    JobKey job,
    String status,
    OptionalInt code,
    Optional<String> signal,
    boolean oom,
    Optional<String> reason,
    String trigger,
    Optional<String> remote,
    Optional<String> because,
    Optional<Instant> due,
    int priority,
    Instant created,
    Optional<Instant> started,
    Optional<Instant> finished,
    Optional<Duration> took,
    Optional<Instant> deadline,
    Optional<Instant> notBefore,
    boolean cancelRequested,
    List<ExecutionId> needs,
    List<ExecutionId> follows,
    List<AttemptView> attempts) {
  public ExecutionView {
    needs = List.copyOf(needs);
    follows = List.copyOf(follows);
    attempts = List.copyOf(attempts);
  }

  public static ExecutionView of(Execution execution) {
    ExecutionStatus status = execution.status();
    Optional<ExitStatus> exit =
        execution.attempts().isEmpty() ? Optional.empty() : execution.attempt().exit();
    return new ExecutionView(
        execution.id(),
        execution.name(),
        execution.job(),
        status.word(),
        status.exitCode(),
        exit.flatMap(ExecutionView::signal),
        exit.filter(end -> end instanceof ExitStatus.OutOfMemory).isPresent(),
        status instanceof ExecutionStatus.Failed(String reason, _)
            ? Optional.of(reason)
            : Optional.empty(),
        execution.trigger().getClass().getSimpleName().toLowerCase(Locale.ROOT),
        execution.trigger() instanceof Trigger.Endpoint(var remote) ? remote : Optional.empty(),
        execution.trigger() instanceof Trigger.Internal(String why)
            ? Optional.of(why)
            : Optional.empty(),
        execution.trigger() instanceof Trigger.Scheduler(Instant due)
            ? Optional.of(due)
            : Optional.empty(),
        execution.priority(),
        execution.createdAt(),
        execution.startedAt(),
        execution.finishedAt(),
        execution
            .finishedAt()
            .flatMap(end -> execution.startedAt().map(start -> Duration.between(start, end))),
        execution.deadlineAt(),
        execution.notBefore(),
        execution.cancelRequested(),
        execution.needs(),
        execution.follows(),
        execution.attempts().stream().map(attempt -> AttemptView.of(attempt, execution)).toList());
  }

  private static Optional<String> signal(ExitStatus exit) {
    return exit instanceof ExitStatus.Signalled(var signal)
        ? Optional.of(signal.signalName())
        : Optional.empty();
  }

  /**
   * One try.
   *
   * @param running when its process was about to start
   * @param outputBytes what is kept of its output; truncated when there was more
   */
  public record AttemptView(
      int number,
      String container,
      Instant started,
      Optional<Instant> running,
      Optional<Instant> finished,
      OptionalInt code,
      Optional<String> ended,
      Optional<String> error,
      List<StepView> steps,
      long outputBytes,
      boolean outputTruncated,
      List<ArtifactView> artifacts,
      List<String> notes) {
    static AttemptView of(Attempt attempt, Execution execution) {
      return new AttemptView(
          attempt.number(),
          execution.container(attempt.number()).runtimeName(),
          attempt.startedAt(),
          attempt.runningAt(),
          attempt.finishedAt(),
          attempt.exit().map(ExitStatus::exitCode).orElse(OptionalInt.empty()),
          attempt.exit().map(ExitStatus::text),
          attempt.error(),
          attempt.steps().stream().map(StepView::of).toList(),
          attempt.output().kept(),
          attempt.output().truncated(),
          attempt.artifacts().stream().map(ArtifactView::of).toList(),
          attempt.notes());
    }
  }

  /** One try of an init step. */
  public record StepView(
      String step,
      int pass,
      int attempt,
      Instant started,
      String result,
      Duration took,
      Optional<String> error,
      Optional<String> log) {
    static StepView of(StepReport report) {
      return new StepView(
          report.step(),
          report.pass(),
          report.attempt(),
          report.startedAt(),
          report.result().name().toLowerCase(Locale.ROOT),
          report.took(),
          report.error(),
          report.log());
    }
  }

  /** Files that were kept, as one archive. */
  public record ArtifactView(String path, long bytes) {
    public static ArtifactView of(Attempt.Artifact artifact) {
      return new ArtifactView(artifact.path(), artifact.bytes());
    }
  }
}
