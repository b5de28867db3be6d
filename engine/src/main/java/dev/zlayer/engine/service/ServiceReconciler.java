package dev.zlayer.engine.service;

import dev.zlayer.container.Claim;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.depend.DependencyStatus;
import dev.zlayer.engine.health.HealthPolicy;
import dev.zlayer.engine.health.HealthState;
import dev.zlayer.engine.health.HealthStatus;
import dev.zlayer.engine.health.Probe;
import dev.zlayer.engine.health.ProbeResult;
import dev.zlayer.engine.init.Initializer;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Claims;
import dev.zlayer.port.Container;
import dev.zlayer.port.Rotation;
import dev.zlayer.scale.Autoscaler;
import dev.zlayer.spec.service.HealthSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Decides about one service. Takes what was asked, what was observed and what time it is, and
 * answers with a record to keep, events to tell and effects to carry out. Owned by the loop; has no
 * thread and never blocks.
 */
final class ServiceReconciler {
  private static final Duration WATCH_PAUSE = Duration.ofSeconds(2);
  private static final Duration LONGEST_DRAIN = Duration.ofSeconds(10);

  private final RandomGenerator random;
  private final FailureHandler failureHandler;
  final DesiredState desired;
  final PendingChanges changes;
  final IdleTimer idle = new IdleTimer();

  /** Of its replicas on average, where its number follows it. */
  Optional<Autoscaler.Load> load = Optional.empty();

  final StagedRollout rollout;
  final ReplicasAhead ahead;
  private boolean awaiting;
  final Map<ContainerId, TrackedContainer> lives = new HashMap<>();

  ServiceReconciler(
      ServiceRecord record, ServiceRevision.Lookup lookup, Claims claims, RandomGenerator random) {
    this.random = random;
    this.changes = new PendingChanges(record);
    this.desired = new DesiredState(changes, lookup, claims);
    this.rollout = new StagedRollout(desired, changes);
    this.ahead = new ReplicasAhead(changes, lives);
    this.failureHandler = new FailureHandler(changes, desired, lookup, random);
  }

  ServiceRecord record() {
    return changes.record();
  }

  ServiceKey key() {
    return record().key();
  }

  /** What there is, at the beginning and now and then; nothing known is forgotten by it. */
  List<Effect> found(List<Container> containers, Instant now) {
    var effects = new ArrayList<Effect>();
    for (Container container : containers) {
      ContainerId id = container.id();
      boolean ours =
          id.deployment().equals(key().deployment())
              && id.service().equals(key().service())
              && container.spec().labels().containsKey(TrackedContainer.HASH);
      if (!ours) {
        continue;
      }
      changes.used(id.generation());
      if (!id.role().equals(Initializer.ROLE)) {
        lives.computeIfAbsent(id, _ -> TrackedContainer.found(container, now));
      } else if (lives.values().stream().noneMatch(live -> starts(live, id.generation()))) {
        effects.add(new Effect.Remove(id, container));
      }
    }
    return effects;
  }

  private static boolean starts(TrackedContainer live, long generation) {
    return live.busy == TrackedContainer.Busy.STARTING && live.id.generation() == generation;
  }

  void started(ContainerId id, Container container, Instant now) {
    find(id)
        .ifPresent(
            live -> {
              live.busy = TrackedContainer.Busy.NO;
              live.handle = container;
              live.health = HealthStatus.starting(now);
              live.startedAt = Optional.of(now);
              changes.event(now, "replica.started", id, Optional.empty());
            });
  }

  /** {@code container} is what was made of it before it failed, if anything. */
  void startFailed(
      ContainerId id,
      Optional<Container> container,
      AgentException error,
      Optional<String> phase,
      Instant now) {
    Optional<TrackedContainer> found = find(id);
    if (found.isEmpty()) {
      return;
    }
    TrackedContainer live = found.get();
    abandoned(id, container);
    live.neverRan();
    failureHandler.startFailed(live, error, phase, now);
  }

  /** A start was given up, by us or by the end of the agent. */
  void abandoned(ContainerId id, Optional<Container> container) {
    find(id)
        .ifPresent(
            live -> {
              live.busy = TrackedContainer.Busy.NO;
              if (container.isPresent()) {
                live.handle = container.get();
              } else {
                lives.remove(id);
              }
            });
  }

  void removed(ContainerId id, Instant now) {
    TrackedContainer live = lives.remove(id);
    if (live != null) {
      changes.event(now, "replica.removed", id, Optional.empty());
    }
  }

  /** It could not be taken away; the next round tries again. */
  void notRemoved(ContainerId id, AgentException error, Instant now) {
    find(id)
        .ifPresent(
            live -> {
              live.busy = TrackedContainer.Busy.NO;
              live.condemned = true;
              changes.delay(now.plus(RestartPolicy.patience(1, random)));
              changes.event(now, "replica.stuck", id, Optional.of(Failure.of(error, now)));
            });
  }

  void ended(ContainerId id, Outcome outcome, List<String> lastLines, Instant now) {
    Optional<TrackedContainer> found = find(id).filter(live -> live.ended.isEmpty());
    if (found.isEmpty()) {
      return;
    }
    TrackedContainer live = found.get();
    live.watched = false;
    live.ended = Optional.of(outcome);
    if (live.busy != TrackedContainer.Busy.NO || live.condemned) {
      return;
    }
    failureHandler.ended(live, outcome, lastLines, now);
  }

  /** The runtime could not tell; it is asked again a little later. */
  void unwatched(ContainerId id, Instant now) {
    find(id)
        .ifPresent(
            live -> {
              live.watched = false;
              live.watchFrom = now.plus(WATCH_PAUSE);
              changes.lookAt(live.watchFrom);
            });
  }

  /** False when it changes nothing but the time of the next check. */
  boolean checked(ContainerId id, ProbeResult result, Instant now) {
    Optional<TrackedContainer> found = find(id).filter(live -> live.probing);
    if (found.isEmpty()) {
      return true;
    }
    TrackedContainer live = found.get();
    boolean succeeding = live.health.succeeding();
    live.probing = false;
    HealthState before = live.health.state();
    HealthSpec spec = desired.health();
    live.health = HealthPolicy.after(live.health, result, spec, live.startedAt(now), now);
    if (live.health.state() == before || !live.running()) {
      changes.lookAt(HealthPolicy.next(live.health, spec, key().hashCode()));
      return !(live.health.healthy() && succeeding && result.success());
    }
    if (live.health.healthy()) {
      changes.event(now, "replica.healthy", id, Optional.empty());
    } else {
      failureHandler.unhealthy(live, spec, now);
    }
    return true;
  }

  /** How many requests there were, where that is known. */
  void counted(boolean forRollout, Optional<Rotation.Requests> requests, Instant now) {
    if (forRollout) {
      rollout
          .counted(lives.values(), requests, now)
          .ifPresent(failure -> failureHandler.failing(failure, now));
    } else {
      idle.counted(this, requests, now);
    }
  }

  /** Somebody asks for a service that has no replica. */
  void requested(Instant now) {
    if (desired.idle()) {
      changes.replace(record().requested());
      changes.event(now, "service.requested", Optional.empty());
    }
  }

  /** The wall clock was set: what waits for a time waits as long as before. */
  void clockMoved(Duration by) {
    idle.clockMoved(by);
    rollout.clockMoved(by);
    changes.clockMoved(by);
    desired.clockMoved(by);
    lives.values().forEach(live -> live.clockMoved(by));
  }

  void resolved(ServiceRevision blueprint, Resolved resolved, Instant now) {
    desired.resolved(blueprint, resolved, now);
  }

  void unresolved(
      ServiceRevision blueprint, AgentException error, Optional<String> phase, Instant now) {
    failureHandler.unresolved(blueprint, error, phase, now);
  }

  /** What has to be done now, given what the others tell. */
  List<Effect> decide(Map<String, DependencyStatus> signals, Instant now) {
    lives.values().removeIf(live -> vanished(live));
    lives.values().forEach(ServiceReconciler::revive);
    ahead.expire(now);
    List<Effect> effects = new ArrayList<>(desired.decide(signals, now));
    boolean judged =
        desired.leaving() != DesiredState.Leaving.NO
            || lives.values().stream().noneMatch(TrackedContainer::unjudged);
    if (judged && !changes.delayed(now)) {
      effects.addAll(steps(now));
    }
    effects.addAll(observe(now));
    if (judged) {
      prove(now);
    }
    idle.due(this, judged, now).ifPresent(effects::add);
    if (judged) {
      rollout.due(lives.values(), now).ifPresent(effects::add);
    }
    if (desired.idle() && !awaiting) {
      effects.add(new Effect.AwaitRequest());
    }
    awaiting = desired.idle();
    return effects;
  }

  /** Taken away by somebody else; there is nothing left to look at. */
  private static boolean vanished(TrackedContainer live) {
    return live.busy == TrackedContainer.Busy.NO
        && live.status() instanceof ContainerStatus.Removed;
  }

  /** Somebody started it again by hand. */
  private static void revive(TrackedContainer live) {
    if (live.busy == TrackedContainer.Busy.NO && live.ended.isPresent() && live.status().alive()) {
      live.ended = Optional.empty();
      live.startedAt = Optional.empty();
    }
  }

  private List<Effect> steps(Instant now) {
    Optional<DesiredReplicas> wanted = desired.wanted(now);
    if (wanted.isEmpty()) {
      return List.of();
    }
    changes.replace(record().only(desired.slots()));
    List<ObservedReplica> seen =
        lives.values().stream().map(live -> live.seen(kept(live))).toList();
    DesiredReplicas limited = rollout.limit(wanted.get(), lives.values());
    ServicePlanner.Plan plan = ServicePlanner.plan(limited, seen, now);
    plan.lookAgain().ifPresent(changes::lookAt);
    var effects = new ArrayList<Effect>();
    for (Action action : plan.actions()) {
      switch (action) {
        case Action.Start(ReplicaId slot, String _) -> effects.add(start(slot, now));
        case Action.Prepare(ReplicaId slot, String _) -> {
          if (ahead.mayPrepare(slot)) {
            effects.add(new Effect.Prepare(begin(slot, TrackedContainer.Busy.PREPARING, now)));
          }
        }
        case Action.Release(ReplicaId slot, long generation) ->
            release(slot, generation, now).ifPresent(effects::add);
        case Action.Stop(ReplicaId slot, long generation, String _) ->
            stop(slot, generation).ifPresent(effects::add);
        case Action.Remove(ReplicaId slot, long generation) ->
            remove(slot, generation).ifPresent(effects::add);
      }
    }
    return effects;
  }

  private boolean kept(TrackedContainer live) {
    return record().slot(live.slot).halted() && !desired.lifecycle().exit().deleteOnExit();
  }

  private Effect start(ReplicaId slot, Instant now) {
    Effect.Start start = begin(slot, TrackedContainer.Busy.STARTING, now);
    starting(start.id(), slot, now);
    return start;
  }

  /** What was created before its time is started, as what it was created from. */
  private Optional<Effect> release(ReplicaId slot, long generation, Instant now) {
    Optional<TrackedContainer> found = find(slot, generation);
    Container container = found.map(live -> live.handle).orElse(null);
    if (found.isEmpty() || container == null) {
      return Optional.empty();
    }
    TrackedContainer live = found.get();
    live.busy = TrackedContainer.Busy.STARTING;
    live.preparedAt = Optional.empty();
    starting(live.id, slot, now);
    return Optional.of(new Effect.Release(made(live), container));
  }

  private void starting(ContainerId id, ReplicaId slot, Instant now) {
    ahead.started(slot);
    changes.event(now, "replica.starting", id, Optional.empty());
  }

  private Effect.Start begin(ReplicaId slot, TrackedContainer.Busy busy, Instant now) {
    changes.replace(record().nextGeneration());
    var id =
        new ContainerId(
            key().deployment(),
            key().service(),
            slot.role(),
            slot.replica(),
            record().generation());
    String hash = desired.part(slot).hash();
    var live = TrackedContainer.made(id, hash, record().desired(), busy, now);
    lives.put(id, live);
    return made(live);
  }

  /** What it is made from; all that have its hash are made from the same. */
  private Effect.Start made(TrackedContainer live) {
    Resolved.Part part = desired.part(live.slot);
    var labels = new HashMap<>(part.container().labels());
    labels.put(TrackedContainer.HASH, part.hash());
    labels.put(TrackedContainer.REVISION, Long.toString(live.revision));
    desired.claim().ifPresent(claim -> labels.put(Claim.LABEL, claim));
    return new Effect.Start(live.id, part.container().withLabels(labels), part.service());
  }

  private Optional<Effect> stop(ReplicaId slot, long generation) {
    Optional<TrackedContainer> found = find(slot, generation);
    if (found.isEmpty()) {
      return Optional.empty();
    }
    TrackedContainer live = found.get();
    if (live.busy == TrackedContainer.Busy.STARTING) {
      return Optional.of(new Effect.Cancel(live.id));
    }
    Container container = live.handle;
    if (container == null) {
      return Optional.empty();
    }
    live.busy = TrackedContainer.Busy.STOPPING;
    Duration grace = container.spec().stop().grace();
    return Optional.of(new Effect.Stop(live.id, container, drain(grace), grace));
  }

  /**
   * A request may have come between the last reading and the end of its route, and HAProxy would
   * find no other replica for it: so who stops for lack of requests always waits for the last one.
   */
  private Duration drain(Duration grace) {
    boolean patient = desired.idle() || grace.compareTo(LONGEST_DRAIN) > 0;
    return patient ? LONGEST_DRAIN : grace;
  }

  private Optional<Effect> remove(ReplicaId slot, long generation) {
    Optional<TrackedContainer> found = find(slot, generation);
    if (found.isEmpty()) {
      return Optional.empty();
    }
    TrackedContainer live = found.get();
    Container container = live.handle;
    if (container == null) {
      lives.remove(live.id);
      return Optional.empty();
    }
    live.busy = TrackedContainer.Busy.REMOVING;
    return Optional.of(new Effect.Remove(live.id, container));
  }

  private List<Effect> observe(Instant now) {
    var effects = new ArrayList<Effect>();
    Probe probe = desired.probe();
    HealthSpec health = desired.health();
    for (TrackedContainer live : lives.values()) {
      Container container = live.handle;
      if (container == null || live.busy != TrackedContainer.Busy.NO) {
        continue;
      }
      boolean watchable =
          live.ended.isEmpty()
              && !(live.status() instanceof ContainerStatus.Created)
              && !(live.status() instanceof ContainerStatus.Prepared);
      if (watchable && !live.watched && !live.watchFrom.isAfter(now)) {
        live.watched = true;
        effects.add(new Effect.Watch(live.id, container));
      }
      if (live.running() && !live.probing && desired.known()) {
        check(live, container, probe, health, now).ifPresent(effects::add);
      }
    }
    return effects;
  }

  private Optional<Effect> check(
      TrackedContainer live, Container container, Probe probe, HealthSpec health, Instant now) {
    if (probe instanceof Probe.Alive) {
      // it runs, which is all that is asked for; its end is watched
      if (!live.health.healthy()) {
        live.probing = true;
        boolean _ = checked(live.id, ProbeResult.good("running"), now);
        changes.lookAt(now);
      }
      return Optional.empty();
    }
    if (live.health.next().isAfter(now)) {
      changes.lookAt(HealthPolicy.next(live.health, health, key().hashCode()));
      return Optional.empty();
    }
    live.probing = true;
    return Optional.of(new Effect.Check(live.id, container, probe, health.timeout()));
  }

  /** Notes that a revision works, and forgets failures of replicas that have proved themselves. */
  private void prove(Instant now) {
    for (TrackedContainer live : lives.values()) {
      boolean lasting =
          live.ready() && !now.isBefore(live.health.since().plus(RestartPolicy.RESET));
      if (lasting && desired.current(live) && record().slot(live.slot).failures() > 0) {
        changes.change(live.slot, ReplicaRecord::proved);
      }
      if (live.ready() && now.isBefore(desired.settledAt(live))) {
        changes.lookAt(desired.settledAt(live));
      }
    }
    if (record().good().equals(Optional.of(record().desired()))
        || !desired.reached(lives.values(), now)) {
      return;
    }
    changes.replace(record().proved(record().desired()));
    changes.event(now, "service.running", Optional.empty());
  }

  private Optional<TrackedContainer> find(ContainerId id) {
    return Optional.ofNullable(lives.get(id));
  }

  private Optional<TrackedContainer> find(ReplicaId slot, long generation) {
    return find(
        new ContainerId(
            key().deployment(), key().service(), slot.role(), slot.replica(), generation));
  }
}
