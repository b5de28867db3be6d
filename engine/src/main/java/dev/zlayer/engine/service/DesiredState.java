package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.depend.DependencyCheck;
import dev.zlayer.depend.DependencyStatus;
import dev.zlayer.engine.health.HealthPolicy;
import dev.zlayer.engine.health.Probe;
import dev.zlayer.port.Claims;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.DependsSpec;
import dev.zlayer.spec.service.HealthSpec;
import dev.zlayer.spec.service.LifecycleSpec;
import dev.zlayer.spec.service.ReplicaGroup;
import dev.zlayer.spec.service.ScaleSpec;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What a service is to become: which revision, made from what, how many, and whether now. */
final class DesiredState {
  private final PendingChanges changes;
  private final ServiceRevision.Lookup lookup;
  private final ClaimGate claims;
  private Optional<ServiceRevision> blueprint = Optional.empty();
  private Optional<Resolved> resolved = Optional.empty();
  private Optional<Failure> unresolved = Optional.empty();
  private Optional<Instant> resolveAt = Optional.empty();
  private int failures;
  private boolean resolving;
  private boolean again;
  private long openFor = -1;
  private Optional<Instant> waitingSince = Optional.empty();
  private DependencyCheck.Verdict gate = new DependencyCheck.Verdict.Open(List.of());
  private Optional<Failure> closed = Optional.empty();
  private Leaving leaving = Leaving.NO;
  private ReplicaLayout layout = ReplicaLayout.EMPTY;
  private NavigableMap<ReplicaId, String> slots = ReplicaLayout.EMPTY.slots();

  /** What the layout was made from; nothing when something else that it follows from changed. */
  private @Nullable ServiceRecord layoutRecord;

  /** How a service goes away. */
  enum Leaving {
    NO,
    /** Its containers stop and it is forgotten. */
    FOR_GOOD,
    /** Its containers stop and come back with the next start of the agent. */
    FOR_NOW
  }

  DesiredState(PendingChanges changes, ServiceRevision.Lookup lookup, Claims claims) {
    this.changes = changes;
    this.lookup = lookup;
    this.claims = new ClaimGate(claims);
  }

  private ServiceRecord record() {
    return changes.record();
  }

  void leave(Leaving leaving) {
    this.leaving = leaving;
    layoutRecord = null;
  }

  /** A service that was being removed is wanted again; the end of the agent is not taken back. */
  void stay() {
    if (leaving == Leaving.FOR_GOOD) {
      leaving = Leaving.NO;
      layoutRecord = null;
    }
  }

  Leaving leaving() {
    return leaving;
  }

  /** What is wanted may have changed: look everything up again. */
  void reconsider() {
    again = true;
    failures = 0;
    resolveAt = Optional.empty();
    unresolved = Optional.empty();
  }

  void resolved(ServiceRevision of, Resolved fresh, Instant now) {
    resolving = false;
    if (of.revision() != record().desired()) {
      return;
    }
    boolean changed = resolved.map(before -> !before.equals(fresh)).orElse(true);
    unresolved = Optional.empty();
    failures = 0;
    if (!fresh.images().equals(record().images().get(of.revision()))) {
      changes.replace(record().with(of.revision(), fresh.images()));
    }
    if (fresh.outline() && !slots().isEmpty()) {
      again = true; // replicas have been asked for meanwhile
      changes.lookAt(now);
      return;
    }
    resolved = Optional.of(fresh);
    layoutRecord = null;
    if (changed) {
      changes.lookAt(now);
    }
  }

  /** False when it does not matter any more. */
  boolean unresolved(
      ServiceRevision of, Failure failure, boolean retry, RandomGenerator random, Instant now) {
    resolving = false;
    if (of.revision() != record().desired()) {
      return false;
    }
    unresolved = Optional.of(failure);
    if (retry) {
      resolveAt = Optional.of(now.plus(RestartPolicy.patience(failures, random)));
      again = true;
    }
    failures++;
    return true;
  }

  int failures() {
    return failures;
  }

  /** Looks at the gate, and asks for what is not known. */
  List<Effect> decide(Map<String, DependencyStatus> signals, Instant now) {
    long aimed = record().desired();
    if (blueprint.map(known -> known.revision() != aimed).orElse(true)) {
      blueprint = lookup.find(record().key().service(), aimed);
      resolved = Optional.empty();
      layoutRecord = null;
      again = true;
    }
    if (blueprint.isEmpty() || leaving != Leaving.NO) {
      return List.of();
    }
    judge(signals, now);
    boolean wanted = !slots().isEmpty();
    again |= wanted && outlined() && !resolving && unresolved.isEmpty();
    boolean due = resolveAt.map(at -> !now.isBefore(at)).orElse(true);
    if (!again || resolving || !due || gate instanceof DependencyCheck.Verdict.Closed) {
      resolveAt.filter(now::isBefore).ifPresent(changes::lookAt);
      return List.of();
    }
    again = false;
    resolving = true;
    boolean outline = !wanted && resolved.map(Resolved::outline).orElse(true);
    return List.of(new Effect.Resolve(blueprint.get(), outline));
  }

  /** Once open it stays open until another revision is wanted. */
  private void judge(Map<String, DependencyStatus> signals, Instant now) {
    if (openFor == record().desired()) {
      return;
    }
    if (waitingSince.isEmpty()) {
      waitingSince = Optional.of(now);
    }
    boolean proven = record().good().equals(Optional.of(record().desired()));
    gate =
        DependencyCheck.judge(
            record().key().toString(),
            depends(),
            signals,
            proven ? 0 : record().desired(),
            waitingSince.get(),
            now);
    if (!(gate instanceof DependencyCheck.Verdict.Closed)) {
      closed = Optional.empty();
    }
    switch (gate) {
      case DependencyCheck.Verdict.Open(var warnings) -> {
        openFor = record().desired();
        waitingSince = Optional.empty();
        warnings.forEach(warning -> changes.warn(now, warning));
      }
      case DependencyCheck.Verdict.Waiting(_, Instant until) -> changes.lookAt(until);
      case DependencyCheck.Verdict.Closed(var reason) -> {
        Failure fresh = Failure.of(reason, now);
        boolean same = closed.filter(old -> old.message().equals(fresh.message())).isPresent();
        if (!same) {
          closed = Optional.of(fresh);
          changes.event(now, "service.failed", closed);
        }
      }
    }
  }

  /** The wall clock was set: what waits for a time waits as long as before. */
  void clockMoved(Duration by) {
    resolveAt = resolveAt.map(time -> Saturating.plus(time, by));
    waitingSince = waitingSince.map(time -> Saturating.plus(time, by));
  }

  /** The clock of waiting begins anew. */
  void waitAnew() {
    openFor = -1;
    waitingSince = Optional.empty();
  }

  /** The names whose statuses decide when it may start; nobody once it may. */
  Set<String> awaited() {
    return openFor == record().desired()
        ? Set.of()
        : depends().stream().map(DependsSpec::service).collect(Collectors.toSet());
  }

  Optional<String> waitingFor() {
    if (claims.obstacle().isPresent()) {
      return claims.obstacle();
    }
    return gate instanceof DependencyCheck.Verdict.Waiting(String what, _)
            && openFor != record().desired()
        ? Optional.of(what)
        : Optional.empty();
  }

  /** What its containers need to run, when a cluster runs no other one of them. */
  Optional<String> claim() {
    return claims.of(record().key(), blueprint);
  }

  /** Why nothing can be started, if that is so. */
  Optional<Failure> obstacle() {
    return closed.isPresent() && openFor != record().desired() ? closed : unresolved;
  }

  /** What containers are made from is being looked up. */
  boolean pending() {
    return (again || resolving) && unresolved.isEmpty();
  }

  boolean known() {
    return blueprint.isPresent();
  }

  /** Empty while nobody knows what containers are to be made from: then nothing is touched. */
  Optional<DesiredReplicas> wanted(Instant now) {
    if (leaving == Leaving.NO && unknown()) {
      return Optional.empty();
    }
    NavigableMap<ReplicaId, String> slots = slots();
    Map<ReplicaId, Instant> notBefore = new HashMap<>();
    Set<ReplicaId> halted = new HashSet<>();
    record()
        .slots()
        .forEach(
            (slot, remembered) -> {
              remembered.notBefore().ifPresent(time -> notBefore.put(slot, time));
              if (remembered.halted()) {
                halted.add(slot);
              }
            });
    var update = lifecycle().update();
    boolean open = openFor == record().desired() && unresolved.isEmpty();
    open &= claims.open(slots().isEmpty() ? Optional.empty() : claim(), changes, now);
    var replicas =
        new DesiredReplicas(
            slots,
            DesiredReplicas.surges(update, !exclusive()),
            exclusive() ? Math.max(1, update.unavailable()) : update.unavailable(),
            update.surge(),
            settling(),
            open,
            false,
            !exclusive() && idleAfter().isPresent(),
            notBefore,
            halted,
            false);
    return Optional.of(ahead() ? replicas.createdAhead() : replicas);
  }

  /** Whether containers may be created before their time: nothing of them belongs to others. */
  private boolean ahead() {
    return !exclusive()
        && !placed()
        && claim().isEmpty()
        && resolved.filter(PlacedReplicas::ahead).isPresent();
  }

  /** Nobody can say yet what the replicas that are wanted are made from. */
  private boolean unknown() {
    return resolved.isEmpty() || blueprint.isEmpty() || (outlined() && !slots().isEmpty());
  }

  /** Whether it is known what every replica is made from. */
  boolean resolvedAll() {
    return !unknown() && !slots().isEmpty();
  }

  /** What is known was looked up while no replica was wanted. */
  private boolean outlined() {
    return resolved.map(Resolved::outline).orElse(false);
  }

  private Duration settling() {
    return lifecycle().update().minHealthyTime();
  }

  /** Whether a cluster has chosen what runs here. */
  boolean placed() {
    return blueprint.flatMap(ServiceRevision::part).isPresent();
  }

  private boolean exclusive() {
    return blueprint.map(known -> PlacedReplicas.exclusive(known, resolved)).orElse(false);
  }

  /**
   * The replicas there should be, with what each is made from; made anew only when they change. It
   * is asked for every container in every round, so nothing is compared while the record is the
   * same one.
   */
  @SuppressWarnings("ReferenceEquality")
  NavigableMap<ReplicaId, String> slots() {
    if (layoutRecord == record()) {
      return slots;
    }
    layoutRecord = record();
    boolean none = leaving != Leaving.NO || record().stopped() || record().shutdown().isPresent();
    ReplicaLayout now =
        none || blueprint.isEmpty()
            ? ReplicaLayout.EMPTY
            : PlacedReplicas.layout(blueprint.get(), counts(), hashes());
    if (!now.equals(layout)) {
      layout = now;
      slots = now.slots();
    }
    return slots;
  }

  /** What the replicas of each role are made from, as far as that is known. */
  private Map<String, String> hashes() {
    var hashes = new HashMap<String, String>();
    resolved
        .filter(known -> !known.outline())
        .ifPresent(known -> known.parts().forEach((role, part) -> hashes.put(role, part.hash())));
    return hashes;
  }

  private Map<String, Integer> counts() {
    List<ReplicaGroup> groups = lifecycle().replicaGroups();
    if (groups.isEmpty()) {
      return Map.of(ContainerId.DEFAULT_ROLE, count(lifecycle().scale()));
    }
    var counts = new HashMap<String, Integer>();
    groups.forEach(group -> counts.put(group.role(), group.count()));
    return counts;
  }

  int count(ScaleSpec scale) {
    int count = written(scale);
    return lifecycle().single() ? Math.min(1, count) : count;
  }

  private int written(ScaleSpec scale) {
    Optional<Integer> asked = record().replicas();
    return switch (scale) {
      case ScaleSpec.Fixed(int replicas) -> replicas;
      case ScaleSpec.Manual(int replicas) -> asked.orElse(replicas);
      case ScaleSpec.Adaptive adaptive ->
          idle()
              ? 0
              : Math.clamp(
                  asked.orElse(adaptive.initial()),
                  adaptive.initial(),
                  Math.max(adaptive.initial(), adaptive.max()));
    };
  }

  /** Whether it has no replica because nobody asks for it. */
  boolean idle() {
    return record().idle() && idleAfter().isPresent() && !record().stopped();
  }

  /** How long it is kept without requests, if it may have no replica. */
  Optional<Duration> idleAfter() {
    return lifecycle().scale() instanceof ScaleSpec.Adaptive adaptive
            && adaptive.toZero()
            && lifecycle().replicaGroups().isEmpty()
        ? Optional.of(adaptive.idleTime())
        : Optional.empty();
  }

  Optional<String> wantedHash(ReplicaId slot) {
    return Optional.ofNullable(slots().get(slot)).filter(hash -> !hash.isEmpty());
  }

  Resolved.Part part(ReplicaId slot) {
    return PlacedReplicas.of(
        blueprint.orElseThrow(), resolved.orElseThrow().part(slot.role()), slot);
  }

  /**
   * Whether every replica is what is wanted and works; a new revision must have done so for its
   * time.
   */
  boolean reached(Collection<TrackedContainer> lives, Instant now) {
    if (unknown()) {
      return false;
    }
    Set<ReplicaId> right =
        lives.stream()
            .filter(live -> current(live) && live.ready() && settled(live, now))
            .map(live -> live.slot)
            .collect(Collectors.toSet());
    return slots().keySet().stream().allMatch(slot -> done(slot) || right.contains(slot))
        && !surplus(lives);
  }

  /** It ended well, and that is all that was wanted of it. */
  boolean done(ReplicaId slot) {
    return record().slot(slot).halt() == ReplicaRecord.Halt.DONE;
  }

  /** Whether it is made from what its replica is to be made from. */
  boolean current(TrackedContainer live) {
    return wantedHash(live.slot).map(live.hash::equals).orElse(false);
  }

  /** Whether there are containers that are not what is wanted. */
  boolean surplus(Collection<TrackedContainer> lives) {
    return lives.stream().anyMatch(live -> !current(live));
  }

  private boolean settled(TrackedContainer live, Instant now) {
    Instant from = settledAt(live);
    if (now.isBefore(from)) {
      changes.lookAt(from);
      return false;
    }
    return true;
  }

  /**
   * When a healthy container counts as lasting. One that replaces another, of an earlier revision
   * or one that has ended, must last; of a first one without a check only its start is waited for.
   */
  Instant settledAt(TrackedContainer live) {
    boolean fresh = record().good().isPresent() && live.revision == record().desired();
    boolean again = record().slot(live.slot).failures() > 0;
    boolean proven = record().good().equals(Optional.of(record().desired()));
    Duration needed =
        again || (fresh && !proven)
            ? settling()
            : RestartPolicy.probation(probe(), proven, settling());
    return Saturating.plus(live.health.since(), needed);
  }

  boolean rollback() {
    return lifecycle().update().rollback();
  }

  private List<DependsSpec> depends() {
    return lifecycle().depends();
  }

  Optional<ServiceSpec> spec() {
    return blueprint.map(ServiceRevision::spec);
  }

  /** The same, also when nobody has looked yet. */
  Optional<ServiceSpec> wantedSpec() {
    return spec()
        .or(
            () ->
                lookup
                    .find(record().key().service(), record().desired())
                    .map(ServiceRevision::spec));
  }

  /** Of the service as it is aimed at; of an empty one when that is not known any more. */
  LifecycleSpec lifecycle() {
    return blueprint.map(known -> known.spec().lifecycle()).orElse(DefaultLifecycle.SPEC);
  }

  HealthSpec health() {
    return HealthPolicy.of(lifecycle().health());
  }

  Probe probe() {
    return blueprint.map(known -> Probe.of(known.spec())).orElseGet(Probe.Alive::new);
  }
}
