package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.engine.init.StepReport;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * One execution of a job, as it is recorded.
 *
 * @param number counts the executions of its job; names its containers
 * @param needs executions that must have completed before
 * @param follows executions that must have ended before
 * @param startedAt when it first left the queue; {@code deadlineAt} counts from here
 * @param notBefore when its next attempt may begin
 * @param cancelRequested somebody ended it: whatever its process does, the result is cancelled
 * @param timedOut its deadline passed: the result is failed unless somebody ended it
 */
public record Execution(
    ExecutionId id,
    long number,
    JobKey job,
    Trigger trigger,
    Overrides overrides,
    int priority,
    Instant createdAt,
    List<ExecutionId> needs,
    List<ExecutionId> follows,
    Optional<Instant> startedAt,
    Optional<Instant> deadlineAt,
    Optional<Instant> notBefore,
    boolean cancelRequested,
    boolean timedOut,
    List<Attempt> attempts,
    ExecutionStatus status,
    Optional<Instant> finishedAt) {
  public Execution {
    needs = List.copyOf(needs);
    follows = List.copyOf(follows);
    attempts = List.copyOf(attempts);
  }

  /** One that waits for its turn. */
  static Execution pending(
      ExecutionId id,
      long number,
      JobKey job,
      Trigger trigger,
      Overrides overrides,
      int priority,
      List<ExecutionId> needs,
      List<ExecutionId> follows,
      Instant now) {
    return new Execution(
        id,
        number,
        job,
        trigger,
        overrides,
        priority,
        now,
        needs,
        follows,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        false,
        false,
        List.of(),
        new ExecutionStatus.Pending(),
        Optional.empty());
  }

  public Attempt attempt() {
    return attempts.getLast();
  }

  /** What people call it: {@code deployment/job/number}. */
  public String name() {
    return job + "/" + number;
  }

  /**
   * The container of the given attempt, which may have been made ahead; no other attempt ever has
   * the same.
   */
  public ContainerId container(int attempt) {
    Optional<Long> prepared =
        attempt <= attempts.size() ? attempts.get(attempt - 1).prepared() : Optional.empty();
    return prepared
        .map(made -> ContainerId.ofPrepared(job.deployment(), job.name(), made))
        .orElseGet(() -> ContainerId.ofExecution(job.deployment(), job.name(), number, attempt));
  }

  /** Bytes that retention counts. */
  public long bytes() {
    return attempts.stream().mapToLong(Attempt::bytes).sum();
  }

  Execution started(Instant now, Optional<Duration> deadline) {
    var all = new ArrayList<>(attempts);
    all.add(Attempt.begun(attempts.size() + 1, now));
    Instant first = startedAt.orElse(now);
    return with(
        next -> {
          next.startedAt = Optional.of(first);
          next.deadlineAt =
              deadlineAt.or(() -> deadline.map(limit -> Saturating.plus(first, limit)));
          next.notBefore = Optional.empty();
          next.attempts = all;
          next.status = new ExecutionStatus.Initializing();
        });
  }

  Execution running(Optional<Long> prepared, Instant now) {
    return with(attempt().running(prepared, now)).with(new ExecutionStatus.Running());
  }

  /** Nothing ran in the container that it was given; it gets another. */
  Execution withdrawn() {
    return with(attempt().withdrawn()).with(new ExecutionStatus.Initializing());
  }

  Execution uploading(ExitStatus exit) {
    return with(new ExecutionStatus.Uploading(exit));
  }

  Execution with(StepReport step) {
    return with(attempt().with(step));
  }

  Execution attemptEnded(AttemptEnd end, Instant now) {
    return with(attempt().ended(end, now));
  }

  Execution again(Instant notBefore) {
    return with(
        next -> {
          next.notBefore = Optional.of(notBefore);
          next.status = new ExecutionStatus.Pending();
        });
  }

  Execution finished(ExecutionStatus status, Instant now) {
    return with(
        next -> {
          next.status = status;
          next.finishedAt = Optional.of(now);
        });
  }

  /** The wall clock was set by so much: what it waits for is as far away as before. */
  Execution moved(Duration by) {
    return with(
        next -> {
          next.startedAt = startedAt.map(time -> Saturating.plus(time, by));
          next.deadlineAt = deadlineAt.map(time -> Saturating.plus(time, by));
          next.notBefore = notBefore.map(time -> Saturating.plus(time, by));
        });
  }

  Execution cancelling() {
    return with(next -> next.cancelRequested = true);
  }

  Execution timingOut() {
    return with(next -> next.timedOut = true);
  }

  private Execution with(ExecutionStatus status) {
    return with(next -> next.status = status);
  }

  private Execution with(Attempt attempt) {
    var all = new ArrayList<>(attempts);
    all.set(all.size() - 1, attempt);
    return with(next -> next.attempts = all);
  }

  private Execution with(Consumer<Next> change) {
    var next = new Next();
    change.accept(next);
    return new Execution(
        id,
        number,
        job,
        trigger,
        overrides,
        priority,
        createdAt,
        needs,
        follows,
        next.startedAt,
        next.deadlineAt,
        next.notBefore,
        next.cancelRequested,
        next.timedOut,
        next.attempts,
        next.status,
        next.finishedAt);
  }

  /** What can change, as it is before the change. */
  private final class Next {
    Optional<Instant> startedAt = startedAt();
    Optional<Instant> deadlineAt = deadlineAt();
    Optional<Instant> notBefore = notBefore();
    boolean cancelRequested = cancelRequested();
    boolean timedOut = timedOut();
    List<Attempt> attempts = attempts();
    ExecutionStatus status = status();
    Optional<Instant> finishedAt = finishedAt();
  }
}
