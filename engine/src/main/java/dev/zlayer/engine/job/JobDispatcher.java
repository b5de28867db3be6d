package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.engine.init.StepReport;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.Suspect;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Owns the book. Takes what was asked and reported, lets the book decide, makes all decisions of
 * one round durable with one commit, and only then acts. Each run has a thread of its own.
 *
 * <p>When the store refuses a round, what people asked is refused, and what runs reported is tried
 * again: a run waits with its container until its end is on disk. An execution whose next step
 * cannot be saved is set aside for a while and does not hold up the others.
 */
final class JobDispatcher implements Owner.State, JobRun.RunCallbacks {
  private static final System.Logger LOG = LazyLogger.of(JobDispatcher.class);
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

  private record Running(JobRun run, Thread thread) {}

  private final Owner<JobDispatcher> owner;
  private final JobParts parts;
  private final JobStateMachine machine;
  private final Ledger ledger;
  private final ExecutionSnapshots view;
  private final Suspect suspect;
  private final ArtifactStore artifacts;
  private final ResultCollector collector;
  private final Owner<WarmContainers> ahead;
  private final WarmStock stock;
  private final Map<ExecutionId, Running> runs = new HashMap<>();

  /** One execution at a time, so that it is known with which one something is wrong. */
  private boolean careful;

  private volatile boolean closed;

  JobDispatcher(
      Owner<JobDispatcher> owner,
      JobParts parts,
      JobStateMachine machine,
      Ledger ledger,
      ExecutionSnapshots view,
      Suspect suspect,
      Owner<WarmContainers> ahead,
      WarmStock stock,
      boolean careful) {
    this.owner = owner;
    this.parts = parts;
    this.machine = machine;
    this.ledger = ledger;
    this.view = view;
    this.suspect = suspect;
    this.careful = careful;
    this.ahead = ahead;
    this.stock = stock;
    this.artifacts = new ArtifactStore(parts.artifacts());
    this.collector = new ResultCollector(artifacts);
  }

  JobStateMachine machine() {
    return machine;
  }

  Instant now() {
    return parts.clock().instant();
  }

  @Override
  public boolean ready(ExecutionId id, int attempt, Optional<Long> prepared)
      throws InterruptedException {
    Owner.Question<JobDispatcher, Boolean> ready =
        loop -> loop.machine.ready(id, attempt, prepared, loop.now());
    return owner.report(ready, _ -> ready).await();
  }

  @Override
  public void withdrawn(ExecutionId id, int attempt) throws InterruptedException {
    Owner.Question<JobDispatcher, Boolean> withdrawn =
        loop -> {
          loop.machine.withdrawn(id, attempt);
          return true;
        };
    boolean _ = owner.report(withdrawn, _ -> withdrawn).await();
  }

  @Override
  public void uploading(ExecutionId id, int attempt, ExitStatus exit) throws InterruptedException {
    Owner.Question<JobDispatcher, Boolean> uploading =
        loop -> {
          loop.machine.uploading(id, attempt, exit, loop.now());
          return true;
        };
    boolean _ = owner.report(uploading, _ -> uploading).await();
  }

  @Override
  public void step(ExecutionId id, int attempt, StepReport report) {
    Owner.Question<JobDispatcher, Boolean> step =
        loop -> {
          loop.machine.step(id, attempt, report, loop.now());
          return true;
        };
    // a step that cannot be kept is no reason to stop
    Object _ = owner.report(step, _ -> _ -> true);
  }

  @Override
  public void ended(ExecutionId id, int attempt, AttemptEnd end) {
    boolean _ =
        owner
            .report(
                loop -> loop.end(id, attempt, end),
                failure -> loop -> loop.end(id, attempt, end.withoutOutput(failure)))
            .awaitUninterruptibly();
  }

  private boolean end(ExecutionId id, int attempt, AttemptEnd end) {
    machine.ended(id, attempt, end, now());
    return true;
  }

  @Override
  public boolean closing() {
    return closed || owner.closing();
  }

  @Override
  public Duration round() {
    Instant now = now();
    if (careful) {
      save();
      careful = false;
      tickOneByOne(now);
    } else {
      machine.tick(now);
      save();
    }
    queueAhead(now);
    Duration wait = Saturating.between(now, machine.nextTick());
    return wait.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : wait;
  }

  /** Lets the containers of those be made whose turn is next; only what is durable counts. */
  private void queueAhead(Instant now) {
    var queue =
        QueueAhead.of(
            ledger.waiting(), ledger.activeOnes(), machine::definition, ledger::ended, now);
    if (stock.replace(queue)) {
      ahead.wake();
    }
  }

  /** Makes all that was decided durable, shows it and does it. */
  private void save() {
    Change change = machine.change();
    if (!change.isEmpty()) {
      commit(change);
    }
    ledger.accept(this::publish).forEach(this::act);
  }

  /** A store that fails in a way of its own is tried again like one that refuses. */
  private void commit(Change change) {
    try {
      parts.store().commit(change);
    } catch (AgentException e) {
      throw e;
    } catch (RuntimeException e) {
      throw new AgentException.Internal("the state store failed: " + e, e);
    }
  }

  /** After a round could not be saved: whatever the time asks for, each execution by itself. */
  private void tickOneByOne(Instant now) {
    for (Execution execution : ledger.open()) {
      try {
        boolean _ =
            suspect.with(
                execution.id().text(),
                () -> {
                  machine.tick(execution.id(), now);
                  save();
                  return true;
                });
      } catch (RuntimeException e) {
        ledger.forget();
        machine.setAside(execution.id());
        LOG.log(
            System.Logger.Level.ERROR, "execution " + execution.id() + " cannot be recorded", e);
      }
    }
    machine.sweep(now);
    save();
  }

  @Override
  public boolean undo() {
    ledger.forget();
    careful = true;
    return true;
  }

  @Override
  public void clockMoved(Duration by) {
    machine.clockMoved(by);
  }

  private void publish(ExecutionId id, Optional<Execution> execution) {
    view.publish(id, execution);
    if (execution.map(known -> known.status().finished()).orElse(true)) {
      runs.remove(id);
    }
  }

  private void act(JobEffect effect) {
    switch (effect) {
      case JobEffect.Launch(Execution execution, boolean given) -> launch(execution, given);
      case JobEffect.Halt(ExecutionId id, JobEffect.Why why) -> {
        Running running = runs.get(id);
        if (running != null) {
          running.run().halt(why);
          running.thread().interrupt();
        }
      }
      case JobEffect.Discard(ExecutionId id) -> spawn("discard " + id, () -> artifacts.drop(id));
      case JobEffect.Tidy() -> spawn("tidy", this::tidy);
    }
  }

  private void tidy() {
    OrphanCleanup.remove(parts.runtime(), view::find, this::unreadable, this::ahead);
    artifacts.dropUnless(id -> view.find(id).isPresent() || unreadable(id));
  }

  /** Whether a container was made ahead for an execution to come, or for one that goes on. */
  private boolean ahead(ContainerId id) {
    return stock.holds(id)
        || view.all().stream()
            .filter(execution -> execution.status().active())
            .anyMatch(execution -> execution.container(execution.attempt().number()).equals(id));
  }

  /** What belongs to an execution that only another program can read is left alone. */
  private boolean unreadable(ExecutionId id) {
    return Quarantine.holds(parts.store(), Ledger.EXECUTIONS, id.text());
  }

  private void launch(Execution execution, boolean given) {
    var run =
        new JobRun(
            parts,
            this,
            collector,
            new WarmSupply(ahead, stock),
            execution,
            given,
            machine.definition(execution.job()));
    Thread started = spawn("job " + execution.id(), run::run);
    runs.put(execution.id(), new Running(run, started));
  }

  /** A run reports its end itself; what could not be tidied is tried again. */
  private Thread spawn(String name, Runnable work) {
    return owner.spawn(
        name,
        () -> {
          work.run();
          return _ -> {};
        },
        _ -> _ -> {});
  }

  /** Leaves all containers as they are. */
  @Override
  public void close() {
    closed = true;
  }
}
