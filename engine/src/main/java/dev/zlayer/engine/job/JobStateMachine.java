package dev.zlayer.engine.job;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.engine.init.StepReport;
import dev.zlayer.engine.state.Change;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.spec.job.JobSpec;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Decides what becomes of executions. It knows neither clock nor disk nor thread: each method takes
 * what happened and the time, notes what has to become durable, and what has to be done once it is.
 * Nothing is final before {@link Ledger#accept}; {@link Ledger#forget} takes back all since the
 * last one.
 */
final class JobStateMachine {
  private static final System.Logger LOG = LazyLogger.of(JobStateMachine.class);

  /** How long results may be too many or too large; looking at each end would cost too much. */
  private static final Duration SOON = Duration.ofSeconds(1);

  private final JobConfig config;
  private final ExecutionIds ids;
  private final Ledger ledger;
  private final Map<JobKey, JobDefinition> definitions = new HashMap<>();
  private final Set<ExecutionId> aside = new HashSet<>();
  private Instant nextSweep = Instant.MIN;
  private Instant nextTidying = Instant.MIN;

  /** The container that an execution gets if it begins while it is triggered. */
  private Map<ExecutionId, Long> offered = Map.of();

  /** What was triggered, and whether it runs at once in the container it was offered. */
  record Triggered(ExecutionId id, boolean given) {}

  JobStateMachine(JobConfig config, ExecutionIds ids, Ledger ledger) {
    this.config = config;
    this.ids = ids;
    this.ledger = ledger;
  }

  /** What the job says, as far as it is still known. */
  JobSpec spec(JobKey job) {
    return definition(job).map(JobDefinition::job).orElse(JobDefaults.SPEC);
  }

  Optional<JobDefinition> definition(JobKey job) {
    return Optional.ofNullable(definitions.get(job));
  }

  /** Adds jobs of any deployments. */
  void define(List<JobDefinition> jobs) {
    jobs.forEach(job -> definitions.put(job.key(), job));
  }

  /** Replaces all jobs of a deployment. */
  void define(String deployment, List<JobDefinition> jobs) {
    definitions.keySet().removeIf(key -> key.deployment().equals(deployment));
    define(jobs);
  }

  /** Goes on with what an earlier process of the agent had begun. */
  void recover(List<Execution> stored, ExecutionNumbers numbers) {
    ledger.load(stored, numbers);
    for (Execution execution : stored) {
      ids.after(execution.id());
      if (execution.status().active()) {
        ledger.then(new JobEffect.Launch(execution, false));
      }
    }
  }

  ExecutionId trigger(TriggerRequest request, Instant now) {
    return trigger(request, Optional.empty(), now).id();
  }

  /**
   * Records the execution, and before it one of each job that it needs.
   *
   * @param offer a container made ahead that is what it wants; it is recorded as running there, so
   *     that one commit is all between the request and the start
   */
  Triggered trigger(TriggerRequest request, Optional<Long> offer, Instant now) {
    Optional<ExecutionId> known =
        request.given().map(TriggerRequest.Given::id).filter(id -> ledger.find(id).isPresent());
    if (known.isPresent()) {
      return new Triggered(known.get(), false);
    }
    List<JobDefinition> all = JobNeeds.inOrder(request.job(), definitions);
    all.forEach(this::requireRoom);
    if (ledger.waiting().size() + all.size() > config.queue()) {
      requireRoomOnNode(all, now);
    }
    Map<JobKey, ExecutionId> made = new HashMap<>();
    ExecutionId asked = new ExecutionId("");
    for (JobDefinition job : all) {
      boolean root = job.key().equals(request.job());
      Trigger trigger =
          root ? request.trigger() : new Trigger.Internal("needed by " + request.job());
      Optional<TriggerRequest.Given> given = root ? request.given() : Optional.empty();
      given.ifPresent(one -> ids.after(one.id()));
      asked = given.map(TriggerRequest.Given::id).orElseGet(() -> ids.next(now));
      made.put(job.key(), asked);
      List<ExecutionId> needs = job.needs().stream().map(made::get).toList();
      Execution execution =
          Execution.pending(
              asked,
              given
                  .map(one -> ledger.takeNumber(job.key(), one.number()))
                  .orElseGet(() -> ledger.nextNumber(job.key())),
              job.key(),
              trigger,
              root ? request.overrides() : Overrides.NONE,
              request.priority().orElse(job.job().priority()),
              needs,
              root ? request.follows() : List.of(),
              now);
      ledger.put(execution);
      ledger.note(new JobEvent("job.pending", execution, now).build());
    }
    if (offer.isPresent()) {
      offered = Map.of(asked, offer.get());
      try {
        admitAll(now);
      } finally {
        offered = Map.of();
      }
    }
    Optional<Execution> recorded = ledger.find(asked);
    recorded.map(request.alongside()).ifPresent(ledger::alongside);
    boolean given =
        recorded.filter(one -> one.status() instanceof ExecutionStatus.Running).isPresent();
    return new Triggered(asked, given);
  }

  private void requireRoom(JobDefinition job) {
    int waiting = ledger.waiting(job.key());
    int free = Math.min(job.job().concurrency() - ledger.active(job.key()), freePlaces());
    if (waiting + 1 - Math.max(0, free) > job.job().queue()) {
      throw new AgentException.Busy(
          "the queue of job '%s' is full, %d executions wait: cancel some, try later or raise job.queue"
              .formatted(job.key(), waiting));
    }
  }

  /** Whoever can start at once, of this round or of these, takes no place of the queue. */
  private void requireRoomOnNode(List<JobDefinition> all, Instant now) {
    admitAll(now);
    long startable =
        all.stream()
            .filter(job -> job.needs().isEmpty())
            .filter(job -> ledger.active(job.key()) < job.job().concurrency())
            .count();
    int waiting = ledger.waiting().size();
    if (waiting + all.size() - Math.min(freePlaces(), startable) > config.queue()) {
      throw new AgentException.Busy(
          "the queue of this node is full, %d executions wait: cancel some, try later or raise job_queue"
              .formatted(waiting));
    }
  }

  private int freePlaces() {
    return Math.max(0, config.concurrency() - ledger.active());
  }

  /** Ends an execution; the result is cancelled, whatever happens from now on. */
  Execution cancel(ExecutionId id, Instant now) {
    Execution execution =
        ledger
            .find(id)
            .orElseThrow(
                () ->
                    new AgentException.NotFound(
                        "execution '" + id + "'", "it never was, or is kept no longer"));
    if (execution.status().finished()) {
      throw new AgentException.Conflict(
          "execution '%s' cannot be cancelled: it has ended already, %s"
              .formatted(id, execution.status().text()));
    }
    if (!execution.cancelRequested()) {
      execution = execution.cancelling();
      ledger.put(execution);
      if (execution.status().active()) {
        ledger.note(new JobEvent("job.cancelling", execution, now).build());
        ledger.then(new JobEffect.Halt(id, JobEffect.Why.CANCELLED));
      } else {
        finish(execution, new ExecutionStatus.Cancelled(), now);
      }
    }
    return ledger.find(id).orElseThrow();
  }

  /** The container is made, perhaps ahead; true when its process may be started. */
  boolean ready(ExecutionId id, int attempt, Optional<Long> prepared, Instant now) {
    Optional<Execution> found = current(id, attempt);
    if (found.isEmpty() || found.get().cancelRequested() || found.get().timedOut()) {
      return false;
    }
    Execution execution = found.get().running(prepared, now);
    ledger.put(execution);
    ledger.note(new JobEvent("job.running", execution, now).build());
    return true;
  }

  /** The container that it was given cannot be used, and nothing ran in it. */
  void withdrawn(ExecutionId id, int attempt) {
    current(id, attempt).ifPresent(execution -> ledger.put(execution.withdrawn()));
  }

  /** The process ended; its files are to be uploaded. */
  void uploading(ExecutionId id, int attempt, ExitStatus exit, Instant now) {
    current(id, attempt)
        .ifPresent(
            execution -> {
              Execution uploading = execution.uploading(exit);
              ledger.put(uploading);
              ledger.note(
                  new JobEvent("job.uploading", uploading, now).with("exit", exit.text()).build());
            });
  }

  void step(ExecutionId id, int attempt, StepReport report, Instant now) {
    current(id, attempt)
        .ifPresent(
            execution -> {
              ledger.put(execution.with(report));
              ledger.note(
                  new JobEvent("job.step", execution, now)
                      .with("step", report.step())
                      .with("pass", report.pass())
                      .with("try", report.attempt())
                      .with("result", report.result())
                      .with("error", report.error())
                      .build());
            });
  }

  void ended(ExecutionId id, int attempt, AttemptEnd end, Instant now) {
    Optional<Execution> found = current(id, attempt);
    if (found.isEmpty()) {
      return;
    }
    Execution execution = found.get().attemptEnded(end, now);
    ledger.put(execution);
    if (end.log().length > 0) {
      ledger.keepLog(id, attempt, end.log());
    }
    if (execution.cancelRequested()) {
      finish(execution, new ExecutionStatus.Cancelled(), now);
    } else if (execution.timedOut()) {
      finish(execution, pastDeadline(execution), now);
    } else {
      switch (RetryPolicy.judge(spec(execution.job()), attempt, end)) {
        case RetryPolicy.Verdict.Done(int code) ->
            finish(execution, new ExecutionStatus.Completed(code, duration(execution, end)), now);
        case RetryPolicy.Verdict.GivenUp(String reason) ->
            finish(execution, new ExecutionStatus.Failed(reason, execution.attempt().exit()), now);
        case RetryPolicy.Verdict.Again(Duration pause) -> {
          ledger.put(execution.again(Saturating.plus(now, pause)));
          ledger.note(
              new JobEvent("job.retry", execution, now)
                  .with("pause", pause)
                  .with("error", execution.attempt().error())
                  .with("exit", execution.attempt().exit().map(exit -> exit.text()))
                  .build());
        }
      }
    }
  }

  private Optional<Execution> current(ExecutionId id, int attempt) {
    return ledger
        .find(id)
        .filter(execution -> execution.status().active())
        .filter(execution -> execution.attempt().number() == attempt);
  }

  private static ExecutionStatus pastDeadline(Execution execution) {
    Duration limit =
        Duration.between(execution.startedAt().orElseThrow(), execution.deadlineAt().orElseThrow());
    return new ExecutionStatus.Failed(
        "its deadline of %s passed".formatted(Durations.print(limit)),
        execution.attempts().isEmpty() ? Optional.empty() : execution.attempt().exit());
  }

  private static Duration duration(Execution execution, AttemptEnd end) {
    Attempt attempt = execution.attempt();
    Instant from =
        end.outcome()
            .flatMap(outcome -> outcome.startedAt())
            .or(attempt::runningAt)
            .orElse(attempt.startedAt());
    Duration took = Duration.between(from, attempt.finishedAt().orElse(from));
    return took.isNegative() ? Duration.ZERO : took; // somebody set the clock back
  }

  /** Does what the time asks for: deadlines, waiting executions whose turn it is, old results. */
  void tick(Instant now) {
    for (Execution execution : ledger.open()) {
      guarded(execution, now, () -> expire(execution, now));
    }
    admitAll(now);
    sweep(now);
  }

  /** As {@link #tick(Instant)}, for one execution alone. */
  void tick(ExecutionId id, Instant now) {
    ledger.find(id).ifPresent(execution -> guarded(execution, now, () -> expire(execution, now)));
    ledger.find(id).ifPresent(execution -> guarded(execution, now, () -> admit(execution, now)));
  }

  /** One execution with which something is wrong ends with the reason and spoils no other. */
  private void guarded(Execution execution, Instant now, Runnable step) {
    if (aside.contains(execution.id())) {
      return;
    }
    try {
      step.run();
    } catch (AgentException e) {
      throw e;
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.ERROR, "a fault with execution " + execution.id(), e);
      setAside(execution.id());
      if (!execution.status().active()) {
        var failed = new ExecutionStatus.Failed("a fault of the agent: " + e, Optional.empty());
        finish(execution, failed, now);
      }
    }
  }

  /** Leaves it as it is until the next sweep. */
  void setAside(ExecutionId id) {
    aside.add(id);
  }

  private void expire(Execution execution, Instant now) {
    boolean late = deadline(execution, now);
    if (late && !execution.timedOut() && !execution.cancelRequested()) {
      Execution marked = execution.timingOut();
      ledger.put(marked);
      if (marked.status().active()) {
        ledger.then(new JobEffect.Halt(marked.id(), JobEffect.Why.DEADLINE));
      } else {
        finish(marked, pastDeadline(marked), now);
      }
    }
  }

  /** The wall clock was set: what waits for a time waits as long as before. */
  void clockMoved(Duration by) {
    nextSweep = nextSweep.equals(Instant.MIN) ? nextSweep : Saturating.plus(nextSweep, by);
    nextTidying = nextTidying.equals(Instant.MIN) ? nextTidying : Saturating.plus(nextTidying, by);
    for (Execution execution : ledger.open()) {
      if (execution.startedAt().isPresent() || execution.notBefore().isPresent()) {
        ledger.put(execution.moved(by));
      }
    }
  }

  /** Old results, and what earlier processes of the agent left. */
  void sweep(Instant now) {
    if (!now.isBefore(nextSweep)) {
      ledger.drop(
          ledger.finishedByJob(),
          (job, finished) -> Retention.expired(finished, spec(job).retention(), now));
      nextSweep = now.plus(config.sweep());
      aside.clear();
    }
    if (!now.isBefore(nextTidying)) {
      ledger.then(new JobEffect.Tidy());
      nextTidying = now.plus(config.sweep());
    }
  }

  /** A deadline is for the process, which has ended when files are uploaded. */
  private static boolean deadline(Execution execution, Instant now) {
    return !(execution.status() instanceof ExecutionStatus.Uploading)
        && execution.deadlineAt().map(end -> !end.isAfter(now)).orElse(false);
  }

  /** When to tick again if nothing else happens. */
  Instant nextTick() {
    return ledger.open().stream()
        .filter(execution -> !aside.contains(execution.id()))
        .flatMap(
            execution ->
                Stream.concat(
                    execution.notBefore().stream(),
                    execution.timedOut()
                            || execution.cancelRequested()
                            || execution.status() instanceof ExecutionStatus.Uploading
                        ? Stream.empty()
                        : execution.deadlineAt().stream()))
        .min(Instant::compareTo)
        .map(time -> earlier(time, earlier(nextSweep, nextTidying)))
        .orElse(earlier(nextSweep, nextTidying));
  }

  private static Instant earlier(Instant one, Instant other) {
    return one.isBefore(other) ? one : other;
  }

  private void admitAll(Instant now) {
    boolean again = true;
    while (again) {
      again = admit(now);
    }
  }

  /** Starts whose turn it is; true when something ended and others may depend on it. */
  private boolean admit(Instant now) {
    boolean ended = false;
    for (Execution execution : List.copyOf(ledger.waiting())) {
      if (ledger.active() >= config.concurrency()) {
        break;
      }
      guarded(execution, now, () -> admit(execution, now));
      ended |= ledger.ended(execution.id());
    }
    return ended;
  }

  private void admit(Execution execution, Instant now) {
    if (!(execution.status() instanceof ExecutionStatus.Pending)
        || ledger.active() >= config.concurrency()) {
      return;
    }
    Optional<String> hopeless = hopeless(execution);
    if (hopeless.isPresent()) {
      finish(execution, new ExecutionStatus.Failed(hopeless.get(), Optional.empty()), now);
    } else if (free(execution, now)) {
      Execution started = execution.started(now, deadline(execution));
      ledger.note(new JobEvent("job.initializing", started, now).build());
      Optional<Long> container = Optional.ofNullable(offered.get(execution.id()));
      if (container.isPresent()) {
        started = started.running(container, now);
        ledger.note(new JobEvent("job.running", started, now).build());
      }
      ledger.put(started);
      ledger.then(new JobEffect.Launch(started, container.isPresent()));
    }
  }

  private Optional<Duration> deadline(Execution execution) {
    return execution.overrides().deadline().or(() -> spec(execution.job()).deadline());
  }

  private Optional<String> hopeless(Execution execution) {
    if (!definitions.containsKey(execution.job())) {
      return Optional.of("job '%s' was removed".formatted(execution.job()));
    }
    return execution.needs().stream()
        .flatMap(need -> ledger.find(need).stream())
        .filter(need -> need.status().finished())
        .filter(need -> !(need.status() instanceof ExecutionStatus.Completed))
        .map(need -> "needs job '%s', which %s".formatted(need.job(), need.status().text()))
        .findFirst();
  }

  private boolean free(Execution execution, Instant now) {
    return execution.notBefore().map(time -> !time.isAfter(now)).orElse(true)
        && ledger.active(execution.job()) < spec(execution.job()).concurrency()
        && execution.needs().stream().allMatch(ledger::ended)
        && execution.follows().stream().allMatch(ledger::ended);
  }

  private void finish(Execution execution, ExecutionStatus status, Instant now) {
    Execution finished = execution.finished(status, now);
    ledger.put(finished);
    Ledger.Kept kept = ledger.kept(execution.job());
    if (Retention.exceeded(kept, spec(execution.job()).retention())) {
      nextSweep = earlier(nextSweep, now.plus(SOON));
    }
    JobEvent event = new JobEvent("job." + status.word(), finished, now);
    status.exitCode().ifPresent(code -> event.with("code", code));
    if (status instanceof ExecutionStatus.Failed(String reason, _)) {
      event.with("reason", reason);
    }
    ledger.note(event.build());
  }

  /** The change since the last acceptance. */
  Change change() {
    return ledger.change();
  }
}
