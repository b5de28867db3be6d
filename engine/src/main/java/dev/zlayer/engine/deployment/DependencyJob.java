package dev.zlayer.engine.deployment;

import dev.zlayer.depend.DependencyCheck;
import dev.zlayer.depend.DependencyStatus;
import dev.zlayer.engine.depend.DependencyStatuses;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.ExecutionStatus;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.TriggerRequest;
import dev.zlayer.engine.service.Failure;
import dev.zlayer.engine.service.SpecHash;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.DependsSpec;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;

/**
 * Runs a job because others wait for it: when what it depends on is there, and once for what the
 * job is; that it completed is remembered, so that bringing the same up again does not run it
 * again.
 */
final class DependencyJob implements Owner.State {
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

  /** What is wanted of the job now. */
  private record Want(long revision, ServiceSpec spec, String hash) {}

  /** How it stands, for people. */
  record View(Optional<String> waitingFor, Optional<Failure> lastError, boolean completed) {}

  private final DeploymentParts parts;
  private final DependencyStatuses dependencies;
  private final DependencyStatuses.Subscription following;
  private final JobKey job;
  private final Runnable audience;
  private final Owner<DependencyJob> owner;
  private DependencyJobRecord record;
  private Want want;
  private Instant waitingSince;
  private long openFor = -1;
  private boolean awaited;
  private final AtomicReference<View> view;

  private DependencyJob(
      Owner<DependencyJob> owner,
      AtomicReference<View> view,
      DeploymentParts parts,
      DependencyStatuses dependencies,
      DependencyStatuses.Subscription following,
      JobKey job,
      Want want,
      Runnable audience) {
    this.owner = owner;
    this.view = view;
    this.parts = parts;
    this.dependencies = dependencies;
    this.following = following;
    this.job = job;
    this.audience = audience;
    this.record = load();
    this.want = want;
    this.waitingSince = parts.clock().instant();
    dependencies.publish(job.name(), DependencyStatus.nothing(want.revision()));
  }

  private DependencyJobRecord load() {
    Optional<byte[]> stored = parts.store().find(DependencyJobRecord.KIND, job.toString());
    if (stored.isEmpty()) {
      return DependencyJobRecord.fresh(job);
    }
    try {
      return DependencyJobRecord.read(job, stored.get());
    } catch (RuntimeException e) {
      var entry = new StateStore.Entry(job.toString(), stored.get());
      Quarantine.put(parts.store(), DependencyJobRecord.KIND, entry, e, parts.clock().instant());
      return DependencyJobRecord.fresh(job);
    }
  }

  /** The job of which somebody waits for the completion, as everybody else sees it. */
  static final class Handle implements AutoCloseable {
    private final DependencyStatuses dependencies;
    private final JobKey job;
    private final AtomicReference<View> view =
        new AtomicReference<>(new View(Optional.of("its turn"), Optional.empty(), false));
    private final Owner<DependencyJob> owner;
    private final DependencyStatuses.Subscription following;
    private volatile Want want;

    Handle(
        DeploymentParts parts,
        DependencyStatuses dependencies,
        JobKey job,
        long revision,
        ServiceSpec spec,
        Runnable audience) {
      this.dependencies = dependencies;
      this.job = job;
      this.want = wanted(revision, spec);
      this.following = dependencies.subscribe(this::wake);
      this.owner =
          Owner.of(
              "dependency job " + job,
              parts.clock(),
              parts.supervisor(),
              (of, _) ->
                  new DependencyJob(of, view, parts, dependencies, following, job, want, audience));
    }

    void start() {
      try {
        owner.start();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AgentException.Internal("interrupted while a job was opened", e);
      }
    }

    View view() {
      return Objects.requireNonNull(view.get());
    }

    void wake() {
      owner.wake();
    }

    /** What is wanted from now on; a run that failed before is made again. */
    void want(long revision, ServiceSpec spec, boolean again) {
      want = wanted(revision, spec);
      Want fresh = want;
      boolean _ =
          owner.ask(
              gate -> {
                gate.aim(fresh, again);
                return true;
              });
    }

    /** Stops watching; an execution under way goes on. */
    @Override
    public void close() {
      following.close();
      owner.close();
      dependencies.publish(job.name(), DependencyStatus.left(want.revision()));
    }
  }

  private void aim(Want fresh, boolean again) {
    want = fresh;
    waitingSince = parts.clock().instant();
    if (again && !record.completed().contains(fresh.hash())) {
      newest().filter(run -> run.status().finished()).ifPresent(this::ignore);
      if (record.failed().isPresent()) {
        commit(record.tryingAgain());
      }
      show(Optional.of("its turn"), Optional.empty(), DependencyStatus.nothing(fresh.revision()));
    }
  }

  private void ignore(Execution run) {
    commit(record.ignoring(run.id()));
  }

  private void commit(DependencyJobRecord fresh) {
    parts.store().commit(Change.of(fresh.put()));
    record = fresh;
  }

  /** The newest run that was made for those who wait. */
  private Optional<Execution> newest() {
    return parts.jobs().list(job).stream()
        .filter(run -> record.counts(run, want.hash()))
        .reduce((_, later) -> later);
  }

  private static Want wanted(long revision, ServiceSpec spec) {
    return new Want(revision, spec, SpecHash.of("", spec));
  }

  @Override
  public Duration round() {
    Instant now = parts.clock().instant();
    boolean _ =
        following.follow(
            want.spec().lifecycle().depends().stream()
                .map(DependsSpec::service)
                .collect(Collectors.toSet()));
    try {
      decide(now);
    } catch (AgentException e) {
      // the store or the executor refuses now; the next look tries again
      show(
          Optional.empty(),
          Optional.of(Failure.of(e, now)),
          DependencyStatus.nothing(want.revision()));
    } catch (RuntimeException e) {
      // a fault of ours must not end the supervision: others would wait for it for ever
      var fault = new AgentException.Internal("the gate of the job failed: " + e, e);
      show(
          Optional.empty(),
          Optional.of(Failure.of(fault, now)),
          DependencyStatus.nothing(want.revision()));
    }
    return LONGEST_WAIT;
  }

  /** What is wanted is kept by whoever asked; the rest is decided anew in each round. */
  @Override
  public boolean undo() {
    return true;
  }

  @Override
  public void clockMoved(Duration by) {
    waitingSince = Saturating.plus(waitingSince, by);
  }

  private void decide(Instant now) {
    boolean completed = record.completed().contains(want.hash());
    if (completed && openFor == want.revision()) {
      show(Optional.empty(), Optional.empty(), DependencyStatus.completed(want.revision()));
      return;
    }
    Optional<Execution> run = completed ? Optional.empty() : newest();
    if (run.isPresent()) {
      follow(run.get(), now);
      return;
    }
    Optional<Failure> before = completed ? Optional.empty() : record.failure(want.hash());
    if (before.isPresent()) {
      failed(before.get());
      return;
    }
    switch (DependencyCheck.judge(
        job.toString(),
        want.spec().lifecycle().depends(),
        dependencies.statuses(),
        want.revision(),
        waitingSince,
        now)) {
      case DependencyCheck.Verdict.Open _ when completed -> {
        // those who wait for it also wait for what it needed, as when it ran
        openFor = want.revision();
        show(Optional.empty(), Optional.empty(), DependencyStatus.completed(want.revision()));
      }
      case DependencyCheck.Verdict.Open _ -> trigger();
      case DependencyCheck.Verdict.Waiting(String what, _) ->
          show(Optional.of(what), Optional.empty(), DependencyStatus.nothing(want.revision()));
      case DependencyCheck.Verdict.Closed(var reason) -> failed(Failure.of(reason, now));
    }
  }

  private void trigger() {
    ExecutionId _ =
        parts.jobs().trigger(TriggerRequest.of(job, DependencyJobRecord.trigger(want.hash())));
    owner.wake();
  }

  private void follow(Execution run, Instant now) {
    switch (run.status()) {
      case ExecutionStatus.Pending _,
          ExecutionStatus.Initializing _,
          ExecutionStatus.Running _,
          ExecutionStatus.Uploading _ -> {
        show(
            Optional.of("the end of its run"),
            Optional.empty(),
            DependencyStatus.started(want.revision()));
        await(run.id());
      }
      case ExecutionStatus.Completed _ -> {
        commit(record.completed(want.hash()));
        openFor = want.revision();
        show(Optional.empty(), Optional.empty(), DependencyStatus.completed(want.revision()));
      }
      case ExecutionStatus.Failed(String reason, var exit) ->
          runFailed(
              Failure.exited(
                  job.toString(),
                  parts.hiding().apply(reason),
                  exit.map(status -> status.exitCode()).orElse(OptionalInt.empty()),
                  JobOutput.lastLines(parts.jobs(), run).stream().map(parts.hiding()).toList(),
                  run.finishedAt().orElse(now)));
      case ExecutionStatus.Cancelled _ ->
          runFailed(
              Failure.exited(
                  job.toString(),
                  "its run was cancelled",
                  OptionalInt.empty(),
                  List.of(),
                  run.finishedAt().orElse(now)));
    }
  }

  private void await(ExecutionId id) {
    if (awaited) {
      return;
    }
    awaited = true;
    Thread _ =
        owner.spawn(
            "wait for " + id,
            () -> {
              Execution _ = parts.jobs().await(id, Deadline.none());
              return gate -> gate.awaited = false;
            },
            _ -> gate -> gate.awaited = false);
  }

  /** Remembered beside the execution, which retention drops one day. */
  private void runFailed(Failure failure) {
    if (!record.failure(want.hash()).equals(Optional.of(failure))) {
      commit(record.failed(want.hash(), failure));
    }
    failed(failure);
  }

  private void failed(Failure failure) {
    show(
        Optional.empty(),
        Optional.of(failure),
        DependencyStatus.failed(want.revision(), failure.message()));
  }

  private void show(Optional<String> waitingFor, Optional<Failure> error, DependencyStatus signal) {
    var fresh = new View(waitingFor, error, signal.completed());
    View before = view.getAndSet(fresh);
    // only now, so that whoever fails for its sake finds the reason shown
    dependencies.publish(job.name(), signal);
    if (!fresh.equals(before)) {
      audience.run();
    }
  }
}
