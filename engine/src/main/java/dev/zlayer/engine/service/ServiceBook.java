package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.depend.Signal;
import dev.zlayer.engine.health.HealthPolicy;
import dev.zlayer.engine.health.HealthState;
import dev.zlayer.engine.health.HealthStatus;
import dev.zlayer.engine.health.Probe;
import dev.zlayer.engine.health.ProbeResult;
import dev.zlayer.engine.init.Initializer;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.port.Container;
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
final class ServiceBook {
  /** Failed tries of something outside before a new revision is taken back. */
  private static final int PATIENCE = 3;

  private static final Duration WATCH_PAUSE = Duration.ofSeconds(2);

  private final Blueprint.Shelf shelf;
  private final RandomGenerator random;
  final Aim aim;
  final Notes notes;
  final Map<ContainerId, Live> lives = new HashMap<>();

  ServiceBook(ServiceRecord record, Blueprint.Shelf shelf, RandomGenerator random) {
    this.shelf = shelf;
    this.random = random;
    this.notes = new Notes(record);
    this.aim = new Aim(notes, shelf);
  }

  ServiceRecord record() {
    return notes.record();
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
              && container.spec().labels().containsKey(Live.HASH);
      if (!ours) {
        continue;
      }
      notes.used(id.generation());
      if (!id.role().equals(Initializer.ROLE)) {
        lives.computeIfAbsent(id, _ -> Live.found(container, now));
      } else if (lives.values().stream().noneMatch(live -> starts(live, id.generation()))) {
        effects.add(new Effect.Remove(id, container));
      }
    }
    return effects;
  }

  private static boolean starts(Live live, long generation) {
    return live.busy == Live.Busy.STARTING && live.id.generation() == generation;
  }

  void started(ContainerId id, Container container, Instant now) {
    find(id)
        .ifPresent(
            live -> {
              live.busy = Live.Busy.NO;
              live.handle = container;
              live.health = HealthStatus.starting(now);
              notes.tell(now, "replica.started", id, Optional.empty());
            });
  }

  /** {@code container} is what was made of it before it failed, if anything. */
  void startFailed(
      ContainerId id, Optional<Container> container, AgentException error, Instant now) {
    Optional<Live> found = find(id);
    if (found.isEmpty()) {
      return;
    }
    Live live = found.get();
    abandoned(id, container);
    live.ended =
        Optional.of(
            new Outcome(
                new ExitStatus.Unknown("it never ran"), Optional.empty(), Optional.empty()));
    Failure failure = Failure.of(error, now);
    notes.tell(now, "replica.failed", id, Optional.of(failure));
    if (!concerns(live)) {
      return;
    }
    Blame blame = error.blame();
    boolean outside = blame == Blame.OUTSIDE || blame == Blame.SELF;
    int tries = record().slot(live.slot).failures() + 1;
    if (takesBack(live, failure, outside ? tries >= PATIENCE : true, now)) {
      return;
    }
    boolean hopeless =
        blame == Blame.REQUEST
            || blame == Blame.PLACEMENT
            || error instanceof AgentException.InitActionFailed;
    if (hopeless) {
      notes.change(live.slot, slot -> slot.halted(SlotRecord.Halt.GIVEN_UP, Optional.of(failure)));
    } else if (outside) {
      Duration pause = RestartPolicy.patience(tries - 1, random);
      notes.change(live.slot, slot -> slot.failed(failure, now.plus(pause)));
    } else {
      apply(live, failure, false, now);
    }
  }

  /** A start was given up, by us or by the end of the agent. */
  void abandoned(ContainerId id, Optional<Container> container) {
    find(id)
        .ifPresent(
            live -> {
              live.busy = Live.Busy.NO;
              if (container.isPresent()) {
                live.handle = container.get();
              } else {
                lives.remove(id);
              }
            });
  }

  void removed(ContainerId id, Instant now) {
    Live live = lives.remove(id);
    if (live != null) {
      notes.tell(now, "replica.removed", id, Optional.empty());
    }
  }

  /** It could not be taken away; the next round tries again. */
  void notRemoved(ContainerId id, AgentException error, Instant now) {
    find(id)
        .ifPresent(
            live -> {
              live.busy = Live.Busy.NO;
              live.condemned = true;
              notes.delay(now.plus(RestartPolicy.patience(1, random)));
              notes.tell(now, "replica.stuck", id, Optional.of(Failure.of(error, now)));
            });
  }

  void ended(ContainerId id, Outcome outcome, List<String> lastLines, Instant now) {
    Optional<Live> found = find(id).filter(live -> live.ended.isEmpty());
    if (found.isEmpty()) {
      return;
    }
    Live live = found.get();
    live.watched = false;
    live.ended = Optional.of(outcome);
    if (live.busy != Live.Busy.NO || live.condemned) {
      return;
    }
    Failure failure = Failure.exited(outcome.status(), lastLines, now);
    notes.tell(now, "replica.exited", id, Optional.of(failure));
    if (!concerns(live)) {
      return;
    }
    if (outcome.status() instanceof ExitStatus.Unknown) {
      // nobody saw how it ended, for example because the machine lost power: no fault of its own
      return;
    }
    Duration ran =
        Duration.between(outcome.startedAt().orElse(now), outcome.finishedAt().orElse(now));
    if (ran.compareTo(RestartPolicy.RESET) >= 0) {
      notes.change(live.slot, SlotRecord::proved);
    }
    if (!takesBack(live, failure, true, now)) {
      apply(live, failure, outcome.status().success(), now);
    }
  }

  /** The runtime could not tell; it is asked again a little later. */
  void unwatched(ContainerId id, Instant now) {
    find(id)
        .ifPresent(
            live -> {
              live.watched = false;
              live.watchFrom = now.plus(WATCH_PAUSE);
              notes.lookAt(live.watchFrom);
            });
  }

  void checked(ContainerId id, ProbeResult result, Instant now) {
    Optional<Live> found = find(id).filter(live -> live.probing);
    if (found.isEmpty()) {
      return;
    }
    Live live = found.get();
    live.probing = false;
    HealthState before = live.health.state();
    HealthSpec spec = aim.health();
    live.health = HealthPolicy.after(live.health, result, spec, live.startedAt(now), now);
    if (live.health.state() == before || !live.running()) {
      return;
    }
    if (live.health.healthy()) {
      notes.tell(now, "replica.healthy", id, Optional.empty());
    } else {
      unhealthy(live, spec, now);
    }
  }

  private void unhealthy(Live live, HealthSpec spec, Instant now) {
    var error = new AgentException.HealthCheckFailed(live.id.toString(), live.health.output());
    Failure failure = Failure.of(error, now);
    notes.tell(now, "replica.unhealthy", live.id, Optional.of(failure));
    if (!concerns(live) || takesBack(live, failure, true, now)) {
      return;
    }
    switch (spec.onUnhealthy()) {
      case RESTART -> {
        live.condemned = true;
        SlotRecord slot = record().slot(live.slot);
        Duration pause = RestartPolicy.again(slot.failures(), random);
        notes.change(live.slot, one -> one.failed(failure, now.plus(pause)));
      }
      case STOP -> {
        live.condemned = true;
        notes.change(live.slot, one -> one.halted(SlotRecord.Halt.GIVEN_UP, Optional.of(failure)));
      }
      case NONE -> {}
    }
  }

  /** Whether what happens to it matters: it is what is wanted now. */
  private boolean concerns(Live live) {
    return aim.wantedHash(live.slot).map(live.hash::equals).orElse(false);
  }

  /** Goes back to the last good revision when the new one fails on its way. */
  private boolean takesBack(Live live, Failure failure, boolean enough, Instant now) {
    boolean possible = enough && live.revision == record().revision() && mayTakeBack();
    if (possible) {
      takeBack(failure, now);
    }
    return possible;
  }

  private boolean mayTakeBack() {
    return record().takenBack().isEmpty()
        && record().good().filter(good -> good != record().revision()).isPresent()
        && aim.rollback()
        && shelf.find(key().service(), record().good().orElseThrow()).isPresent();
  }

  private void takeBack(Failure failure, Instant now) {
    notes.replace(record().takenBack(failure));
    notes.tell(now, "service.rolled_back", Optional.of(failure));
    aim.reconsider();
  }

  private void apply(Live live, Failure failure, boolean success, Instant now) {
    SlotRecord slot = record().slot(live.slot);
    switch (RestartPolicy.judge(aim.lifecycle(), success, slot.failures(), random)) {
      case RestartPolicy.Verdict.Again(Duration pause) -> {
        notes.change(live.slot, one -> one.failed(failure, now.plus(pause)));
        if (slot.failures() + 1 == RestartPolicy.CRASH_LOOP) {
          notes.tell(now, "service.crash_loop", Optional.of(failure));
        }
      }
      case RestartPolicy.Verdict.GivenUp _ ->
          notes.change(
              live.slot,
              one ->
                  success
                      ? one.halted(SlotRecord.Halt.DONE, Optional.empty())
                      : one.halted(SlotRecord.Halt.GIVEN_UP, Optional.of(failure)));
      case RestartPolicy.Verdict.Isolated() -> {
        notes.change(live.slot, one -> one.halted(SlotRecord.Halt.ISOLATED, Optional.of(failure)));
        notes.tell(now, "replica.isolated", live.id, Optional.of(failure));
      }
      case RestartPolicy.Verdict.Shutdown() -> {
        notes.replace(record().shutdown(failure));
        notes.tell(now, "service.shutdown", Optional.of(failure));
      }
    }
  }

  void resolved(Blueprint blueprint, Resolved resolved, Instant now) {
    aim.resolved(blueprint, resolved, now);
  }

  void unresolved(Blueprint blueprint, AgentException error, Instant now) {
    Failure failure = Failure.of(error, now);
    boolean waits = error.blame() == Blame.OUTSIDE || error.blame() == Blame.SELF;
    if (!aim.unresolved(blueprint, failure, waits, random, now)) {
      return;
    }
    notes.tell(now, "service.failed", Optional.of(failure));
    if ((!waits || aim.failures() >= PATIENCE) && mayTakeBack()) {
      takeBack(failure, now);
    }
  }

  /** What has to be done now, given what the others tell. */
  List<Effect> decide(Map<String, Signal> signals, Instant now) {
    lives.values().removeIf(live -> vanished(live));
    lives.values().forEach(ServiceBook::revive);
    List<Effect> effects = new ArrayList<>(aim.decide(signals, now));
    boolean judged =
        aim.leaving() != Aim.Leaving.NO || lives.values().stream().noneMatch(Live::unjudged);
    if (judged && !notes.delayed(now)) {
      effects.addAll(steps(now));
    }
    effects.addAll(observe(now));
    if (judged) {
      prove(now);
    }
    return effects;
  }

  /** Taken away by somebody else; there is nothing left to look at. */
  private static boolean vanished(Live live) {
    return live.busy == Live.Busy.NO && live.status() instanceof ContainerStatus.Removed;
  }

  /** Somebody started it again by hand. */
  private static void revive(Live live) {
    if (live.busy == Live.Busy.NO && live.ended.isPresent() && live.status().alive()) {
      live.ended = Optional.empty();
    }
  }

  private List<Effect> steps(Instant now) {
    Optional<Wanted> wanted = aim.wanted(now);
    if (wanted.isEmpty()) {
      return List.of();
    }
    notes.replace(record().only(aim.slots()));
    List<Seen> seen = lives.values().stream().map(live -> live.seen(kept(live))).toList();
    ServicePlanner.Plan plan = ServicePlanner.plan(wanted.get(), seen, now);
    plan.lookAgain().ifPresent(notes::lookAt);
    var effects = new ArrayList<Effect>();
    for (Action action : plan.actions()) {
      switch (action) {
        case Action.Start(Slot slot, String _) -> effects.add(start(slot, now));
        case Action.Stop(Slot slot, long generation, String _) ->
            stop(slot, generation).ifPresent(effects::add);
        case Action.Remove(Slot slot, long generation) ->
            remove(slot, generation).ifPresent(effects::add);
      }
    }
    return effects;
  }

  private boolean kept(Live live) {
    return record().slot(live.slot).halted() && !aim.lifecycle().exit().deleteOnExit();
  }

  private Effect start(Slot slot, Instant now) {
    notes.replace(record().nextGeneration());
    var id =
        new ContainerId(
            key().deployment(),
            key().service(),
            slot.role(),
            slot.replica(),
            record().generation());
    Resolved.Part part = aim.part(slot.role());
    lives.put(id, Live.starting(id, part.hash(), record().aim(), now));
    notes.tell(now, "replica.starting", id, Optional.empty());
    var labels = new HashMap<>(part.container().labels());
    labels.put(Live.HASH, part.hash());
    labels.put(Live.REVISION, Long.toString(record().aim()));
    return new Effect.Start(id, part.container().withLabels(labels), part.service());
  }

  private Optional<Effect> stop(Slot slot, long generation) {
    Optional<Live> found = find(slot, generation);
    if (found.isEmpty()) {
      return Optional.empty();
    }
    Live live = found.get();
    if (live.busy == Live.Busy.STARTING) {
      return Optional.of(new Effect.Cancel(live.id));
    }
    Container container = live.handle;
    if (container == null) {
      return Optional.empty();
    }
    live.busy = Live.Busy.STOPPING;
    return Optional.of(new Effect.Stop(live.id, container, container.spec().stop().grace()));
  }

  private Optional<Effect> remove(Slot slot, long generation) {
    Optional<Live> found = find(slot, generation);
    if (found.isEmpty()) {
      return Optional.empty();
    }
    Live live = found.get();
    Container container = live.handle;
    if (container == null) {
      lives.remove(live.id);
      return Optional.empty();
    }
    live.busy = Live.Busy.REMOVING;
    return Optional.of(new Effect.Remove(live.id, container));
  }

  private List<Effect> observe(Instant now) {
    var effects = new ArrayList<Effect>();
    Probe probe = aim.probe();
    HealthSpec health = aim.health();
    for (Live live : lives.values()) {
      Container container = live.handle;
      if (container == null || live.busy != Live.Busy.NO) {
        continue;
      }
      boolean watchable =
          live.ended.isEmpty() && !(live.status() instanceof ContainerStatus.Created);
      if (watchable && !live.watched && !live.watchFrom.isAfter(now)) {
        live.watched = true;
        effects.add(new Effect.Watch(live.id, container));
      }
      if (live.running() && !live.probing && aim.known()) {
        if (!live.health.next().isAfter(now)) {
          live.probing = true;
          effects.add(new Effect.Check(live.id, container, probe, health.timeout()));
        } else {
          notes.lookAt(live.health.next());
        }
      }
    }
    return effects;
  }

  /** Notes that a revision works, and forgets failures of replicas that have proved themselves. */
  private void prove(Instant now) {
    for (Live live : lives.values()) {
      boolean lasting =
          live.ready() && !now.isBefore(live.health.since().plus(RestartPolicy.RESET));
      if (lasting && concerns(live) && record().slot(live.slot).failures() > 0) {
        notes.change(live.slot, SlotRecord::proved);
      }
    }
    if (record().good().equals(Optional.of(record().aim())) || !aim.reached(lives.values(), now)) {
      return;
    }
    notes.replace(record().proved(record().aim()));
    notes.tell(now, "service.running", Optional.empty());
  }

  private Optional<Live> find(ContainerId id) {
    return Optional.ofNullable(lives.get(id));
  }

  private Optional<Live> find(Slot slot, long generation) {
    return lives.values().stream()
        .filter(live -> live.slot.equals(slot) && live.id.generation() == generation)
        .findFirst();
  }
}
