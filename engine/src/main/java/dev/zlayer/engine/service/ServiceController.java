package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.depend.DependencyStatus;
import dev.zlayer.engine.depend.DependencyStatuses;
import dev.zlayer.engine.health.HealthState;
import dev.zlayer.engine.health.ProbeResult;
import dev.zlayer.engine.state.Change;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.Preparable;
import dev.zlayer.port.Rotation;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Saturating;
import dev.zlayer.task.Stopwatch;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * Keeps one service as its file says. In each round it compares what is there with what is wanted,
 * makes its decisions durable, publishes them, and only then lets {@link EffectRunner} carry them
 * out, which reports back.
 *
 * <p>It never relies on a message having come: what is there is what the runtime says.
 */
final class ServiceController implements Owner.State {
  /** Nothing needs a round as late as this; what happens to its containers wakes it. */
  private static final System.Logger LOG = LazyLogger.of(ServiceController.class);

  private static final Duration LONGEST_WAIT = Duration.ofMinutes(5);
  private static final Duration CLOSING = Duration.ofSeconds(5);

  /**
   * A round looks at all replicas. With so many of them it is not made for each of their changes,
   * but for those of so long together: the start of a thousand would be a matter of a million
   * looks.
   */
  private static final int MANY = 50;

  private static final Duration PAUSE_PER_REPLICA = Duration.ofNanos(200_000);

  /** On a machine that is busy, with starting them perhaps, rounds get a tenth of the time. */
  private static final int PAUSES_PER_ROUND = 9;

  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);

  private static final Backoff RETRY_BACKOFF =
      new Backoff(Duration.ofMillis(20), Duration.ofSeconds(5), 2);

  private final ServiceParts parts;
  private final ServiceKey key;
  private final ServiceReconciler reconciler;
  private final EffectRunner work;
  private final Consumer<ServiceStatus> shown;
  private final Runnable ended;
  private final DependencyStatuses.Subscription dependencies;
  private final List<Effect> undone = new ArrayList<>();

  /** The listing whose containers are known; 0 is none. */
  private long listing;

  /** The index may lack what this service made before its controller died. */
  private boolean listAnew;

  private int listFailures;

  /** Something has happened that a round has to be made for before it is due. */
  private boolean changed = true;

  private Instant nextRound = Instant.MIN;
  private Deadline pause = Deadline.after(Duration.ZERO);
  private Optional<Rotation.Members> told = Optional.empty();
  private Optional<Failure> trouble = Optional.empty();

  /** Attempts to publish the members that failed one after the other. */
  private int troubles;

  private Optional<Instant> tellAgain = Optional.empty();
  private Optional<ServiceStatus> status = Optional.empty();
  private int storeFailures;
  private boolean done;

  ServiceController(
      ServiceParts parts,
      ServiceRecord record,
      Owner<ServiceController> owner,
      DependencyStatuses.Subscription dependencies,
      Consumer<ServiceStatus> shown,
      Runnable ended) {
    this.parts = parts;
    this.key = record.key();
    this.reconciler = new ServiceReconciler(record, parts.lookup(), parts.claims(), parts.random());
    reconciler.ahead.able(parts.runtime().capabilities().powers().contains(Preparable.class));
    this.work = new EffectRunner(parts, key, owner);
    this.dependencies = dependencies;
    this.shown = shown;
    this.ended = ended;
  }

  ServiceReconciler reconciler() {
    return reconciler;
  }

  void accept(BiConsumer<ServiceReconciler, Instant> news) {
    changed = true;
    news.accept(reconciler, parts.clock().instant());
  }

  /** A result that changes nothing is no reason for a round: there may be hundreds in a second. */
  void checked(ContainerId id, ProbeResult result) {
    TrackedContainer live = reconciler.lives.get(id);
    HealthState before = live == null ? HealthState.STARTING : live.health.state();
    changed |= reconciler.checked(id, result, parts.clock().instant());
    if (live != null && live.handle != null && live.health.state() != before) {
      var step =
          live.health.healthy() ? ReplicaListener.Step.HEALTHY : ReplicaListener.Step.UNHEALTHY;
      parts.replicas().happened(step, live.handle, Optional.empty());
    }
    changed |= leaving(); // which waits for the end of all work
  }

  /** Lists the containers itself before it decides anything. */
  void listAnew() {
    listAnew = true;
  }

  /** Changes what is wanted, durably; throws when it cannot be made so, and is not made. */
  void change(UnaryOperator<ServiceRecord> change, boolean anew) {
    ServiceRecord before = reconciler.record();
    int events = reconciler.changes.events();
    try {
      reconciler.changes.replace(change.apply(before));
      commit(reconciler.changes.unsaved());
      reconciler.changes.saved();
    } catch (AgentException e) {
      reconciler.changes.undo(before, events);
      throw e;
    } catch (RuntimeException e) {
      reconciler.changes.undo(before, events);
      throw new AgentException.Internal("service %s cannot be changed: %s".formatted(key, e), e);
    }
    changed = true;
    reconciler.desired.reconsider();
    if (anew) {
      reconciler.desired.waitAnew();
    }
  }

  private void commit(Change change) {
    if (!change.isEmpty()) {
      parts.store().commit(change);
    }
  }

  @Override
  public boolean done() {
    return done;
  }

  @Override
  public void clockMoved(Duration by) {
    changed = true;
    tellAgain = tellAgain.map(time -> Saturating.plus(time, by));
    work.clockMoved(by);
    reconciler.clockMoved(by);
  }

  @Override
  public Duration round() throws InterruptedException {
    Instant now = parts.clock().instant();
    Instant due = reconciler.changes.lookAgain().filter(nextRound::isAfter).orElse(nextRound);
    if (!changed && now.isBefore(due)) {
      return Saturating.between(now, due);
    }
    if (!pause.passed()) {
      return pause.left();
    }
    nextRound = Instant.MIN; // unless it ends well it is made again
    changed = false;
    var took = Stopwatch.started();
    Duration wait = act(now);
    pause = Deadline.after(pauseAfter(took.passed()));
    nextRound = Saturating.plus(now, wait);
    return changed ? pause.left() : wait;
  }

  private Duration pauseAfter(Duration round) {
    int replicas = reconciler.lives.size();
    if (replicas < MANY) {
      return Duration.ZERO;
    }
    Duration least = PAUSE_PER_REPLICA.multipliedBy(replicas);
    Duration fair = round.multipliedBy(PAUSES_PER_ROUND);
    Duration pause = fair.compareTo(LONGEST_PAUSE) < 0 ? fair : LONGEST_PAUSE;
    return pause.compareTo(least) < 0 ? least : pause;
  }

  /** Returns how long nothing has to be done unless something happens. */
  private Duration act(Instant now) throws InterruptedException {
    if (!list(now)) {
      return RETRY_BACKOFF.delay(listFailures++);
    }
    listFailures = 0;
    boolean leaving = leaving();
    if (leaving && mayLeave() && nothingIsLeft()) {
      done = left();
      return done ? Duration.ZERO : RETRY_BACKOFF.delay(storeFailures - 1);
    }
    if (!leaving || mayLeave()) {
      undone.addAll(reconciler.decide(parts.dependencies().statuses(), now));
      work.measure(reconciler, now).ifPresent(undone::add);
    }
    if (dependencies.follow(leaving ? dependants() : reconciler.desired.awaited())) {
      changed = true; // they may have published since they were read
    }
    if (save()) {
      publish(now);
      List<Effect> effects = List.copyOf(undone);
      undone.clear();
      effects.forEach(effect -> work.act(effect, reconciler.record()));
    }
    if (leaving && mayLeave() && nothingIsLeft()) {
      changed = true; // the last container has just been found to be removed
    }
    return untilNextLook(now);
  }

  /** Those that were created ahead go, as far as there is time; the next process has the rest. */
  @Override
  public void close() {
    boolean _ = Thread.interrupted(); // that is how an owner is told to close
    Deadline deadline = Deadline.after(CLOSING);
    for (TrackedContainer live : reconciler.lives.values()) {
      Container container = live.handle;
      if (container != null && live.waits() && !deadline.passed()) {
        try {
          container.remove(true);
        } catch (AgentException e) {
          LOG.log(System.Logger.Level.DEBUG, "cannot remove " + live.id, e);
        } catch (InterruptedException _) {
          Thread.currentThread().interrupt();
          return;
        }
      }
    }
  }

  private boolean leaving() {
    return reconciler.desired.leaving() != DesiredState.Leaving.NO;
  }

  private boolean nothingIsLeft() {
    return reconciler.lives.isEmpty() && !work.busy();
  }

  /** Nothing is decided before the containers were seen once: what runs must not be made twice. */
  private boolean list(Instant now) {
    try {
      if (listAnew) {
        undone.addAll(reconciler.found(parts.runtime().list(), now));
        listAnew = false;
      }
      ContainerIndex.Entry found = parts.index().find(key);
      if (found.number() != listing) {
        listing = found.number();
        undone.addAll(reconciler.found(found.containers(), now));
      }
      return true;
    } catch (RuntimeException e) {
      var error =
          e instanceof AgentException ours
              ? ours
              : new AgentException.Internal("containers cannot be listed: " + e, e);
      show(new ServiceView(reconciler, now).status(Optional.of(Failure.of(error, now)), 0));
      return false;
    }
  }

  private Duration untilNextLook(Instant now) {
    if (storeFailures > 0) {
      return RETRY_BACKOFF.delay(storeFailures - 1);
    }
    Instant next = Saturating.plus(now, LONGEST_WAIT);
    next = reconciler.changes.takeLookAgain().filter(next::isAfter).orElse(next);
    next = tellAgain.filter(next::isAfter).orElse(next);
    return Saturating.between(now, next);
  }

  private Set<String> dependants() {
    return parts.audience().dependants(key.service());
  }

  private boolean mayLeave() {
    return dependants().stream()
        .allMatch(name -> parts.dependencies().find(name).map(DependencyStatus::gone).orElse(true));
  }

  private boolean left() throws InterruptedException {
    try {
      parts.rotation().remove(key);
      if (reconciler.desired.leaving() == DesiredState.Leaving.FOR_GOOD) {
        commit(
            Change.of(
                new Change.Delete(ServiceCodec.KIND, key.toString()),
                new Change.Delete(EndedReplica.KIND, key.toString())));
      }
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot remove service " + key + "; trying again", e);
      storeFailures++;
      return false;
    }
    parts
        .dependencies()
        .publish(key.service(), DependencyStatus.left(reconciler.record().revision()));
    ended.run();
    parts.audience().gone(key.service());
    return true;
  }

  private boolean save() {
    try {
      commit(reconciler.changes.unsaved());
      reconciler.changes.saved();
      storeFailures = 0;
      return true;
    } catch (RuntimeException _) {
      // nothing was acted on: the same is tried again
      storeFailures++;
      return false;
    }
  }

  private void publish(Instant now) throws InterruptedException {
    var view = new ServiceView(reconciler, now);
    Optional<Rotation.Members> members = view.members();
    boolean late = tellAgain.map(at -> !now.isBefore(at)).orElse(false);
    if (members.isPresent() && (late || !members.equals(told))) {
      told = members;
      tell(members.get(), now);
    }
    parts.dependencies().publish(key.service(), view.signal(trouble.isEmpty()));
    show(view.status(trouble, troubles));
  }

  private void show(ServiceStatus fresh) {
    if (!status.equals(Optional.of(fresh))) {
      status = Optional.of(fresh);
      shown.accept(fresh);
    }
  }

  private void tell(Rotation.Members members, Instant now) throws InterruptedException {
    try {
      parts.rotation().update(members);
      trouble = Optional.empty();
      troubles = 0;
      tellAgain = Optional.empty();
    } catch (AgentException e) {
      trouble = Optional.of(Failure.of(e, now));
      troubles++;
      tellAgain =
          Optional.of(now.plus(RestartPolicy.patience(Math.min(2, troubles - 1), parts.random())));
    }
  }
}
