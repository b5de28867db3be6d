package dev.zlayer.engine.service;

import dev.zlayer.engine.service.ObservedReplica.Phase;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Decides what to do next about the containers of one service. Pure.
 *
 * <p>Each replica is a slot. A slot is right when it has one container of the wanted hash. A slot
 * without any gets one. A slot with an outdated one is updated: either a new container is started
 * beside it and the old one goes when the new one has proved to work, or the old one goes first.
 * Neither ever takes more healthy replicas away, or puts more containers up, than is allowed;
 * containers that are not healthy are nobody's loss and go at once.
 *
 * <p>The container of a replica that has to wait for its time, or for another one to prove to work,
 * is created meanwhile where that is allowed; only its start waits. One that nobody waits for goes.
 */
final class ServicePlanner {
  /** What to do now, and when to look again even if nothing happens. */
  record Plan(List<Action> actions, Optional<Instant> lookAgain) {
    Plan {
      actions = List.copyOf(actions);
    }
  }

  /** How long before its time a container is created. */
  static final Duration AHEAD = Duration.ofSeconds(5);

  private final DesiredReplicas wanted;
  private final Instant now;
  private final Map<ReplicaId, List<ObservedReplica>> bySlot = new TreeMap<>();
  private final List<Action> actions = new ArrayList<>();
  private Optional<Instant> lookAgain = Optional.empty();

  /** Slots with a container that counts as available. */
  private final Set<ReplicaId> available = new TreeSet<>();

  /** Slots whose next container may be there before it is started. */
  private final Set<ReplicaId> keptAhead = new TreeSet<>();

  /** Slots whose next container is to be made now, and started later. */
  private final Map<ReplicaId, String> wantedAhead = new TreeMap<>();

  private boolean nextKnown;

  /** Live containers beyond the first of their slot. */
  private int excess;

  private ServicePlanner(DesiredReplicas wanted, List<ObservedReplica> seen, Instant now) {
    this.wanted = wanted;
    this.now = now;
    seen.forEach(one -> bySlot.computeIfAbsent(one.slot(), _ -> new ArrayList<>()).add(one));
    bySlot
        .values()
        .forEach(all -> all.sort(Comparator.comparingLong(ObservedReplica::generation).reversed()));
    for (Map.Entry<ReplicaId, List<ObservedReplica>> slot : bySlot.entrySet()) {
      int live = (int) slot.getValue().stream().filter(ObservedReplica::live).count();
      excess += Math.max(0, live - 1);
      if (wanted.slots().containsKey(slot.getKey())
          && slot.getValue().stream().anyMatch(this::counts)) {
        available.add(slot.getKey());
      }
    }
  }

  static Plan plan(DesiredReplicas wanted, List<ObservedReplica> seen, Instant now) {
    var planner = new ServicePlanner(wanted, seen, now);
    planner.bySlot.forEach(
        (slot, all) -> {
          if (!wanted.slots().containsKey(slot)) {
            all.forEach(one -> planner.away(one, "it is not wanted any more"));
          }
        });
    wanted.slots().forEach(planner::slot);
    planner.ahead();
    return new Plan(planner.actions, planner.lookAgain);
  }

  private void slot(ReplicaId slot, String hash) {
    List<ObservedReplica> all = bySlot.getOrDefault(slot, List.of());
    all.stream().filter(one -> one.phase() == Phase.LEFTOVER).forEach(this::remove);
    List<ObservedReplica> present = all.stream().filter(ObservedReplica::present).toList();
    Optional<ObservedReplica> current =
        present.stream().filter(one -> one.hash().equals(hash)).findFirst();
    List<ObservedReplica> others =
        present.stream().filter(one -> !current.equals(Optional.of(one))).toList();
    if (current.isPresent()) {
      keep(current.get(), others);
    } else if (others.isEmpty()) {
      boolean vacant =
          all.stream()
              .filter(ObservedReplica::live)
              .allMatch(one -> wanted.besideStopping() && one.phase() == Phase.STOPPING);
      if (vacant) {
        start(slot, hash);
      } else {
        keptAhead.add(slot);
      }
    } else if (startable(slot)) {
      replace(slot, hash, others);
    }
  }

  /** The container is the wanted one; what else there is goes when it is not needed any more. */
  private void keep(ObservedReplica current, List<ObservedReplica> others) {
    switch (current.phase()) {
      case CONDEMNED -> away(current, "it is not healthy");
      case ENDED -> {
        if (others.isEmpty() || startable(current.slot())) {
          remove(current);
        }
      }
      case KEPT, STARTING, RUNNING, HEALTHY, STOPPING, PREPARING, PREPARED, LEFTOVER -> {}
    }
    for (ObservedReplica other : others) {
      if (!other.live()) {
        remove(other);
      } else if (settled(current) && !returnable(other)) {
        away(other, "it was replaced");
      } else if (!other.healthy() && other.phase() != Phase.STARTING && current.live()) {
        // it serves nobody, and the new one is on its way
        away(other, "it was replaced");
      } else if (other.phase() == Phase.STARTING) {
        away(other, "another one is wanted by now");
      }
    }
  }

  /** Whether requests may have to go back to it. */
  private boolean returnable(ObservedReplica old) {
    return wanted.keepOld() && old.healthy();
  }

  /** All containers of the slot are outdated: at most one of them, which serves, has to stay. */
  private void replace(ReplicaId slot, String hash, List<ObservedReplica> others) {
    Optional<ObservedReplica> serving =
        others.stream().filter(ObservedReplica::healthy).findFirst();
    for (ObservedReplica other : others) {
      if (!serving.equals(Optional.of(other))) {
        away(other, "it is outdated");
      }
    }
    if (serving.isEmpty()) {
      return;
    }
    if (wanted.maySurge()) {
      boolean alone =
          bySlot.getOrDefault(slot, List.of()).stream().filter(ObservedReplica::live).count() == 1;
      if (alone && excess < wanted.surge()) {
        excess++;
        begin(slot, hash);
      } else {
        next(slot, hash);
      }
    } else if (available.size() > floor()) {
      away(serving.get(), "it is outdated");
      available.remove(slot);
      keptAhead.add(slot);
    } else {
      next(slot, hash);
    }
  }

  /** It is updated after others; the first of those gets its container while they are. */
  private void next(ReplicaId slot, String hash) {
    if (!wanted.keepOld() && !nextKnown) {
      nextKnown = true;
      wantedAhead.put(slot, hash);
    }
  }

  private int floor() {
    return wanted.slots().size() - wanted.unavailable();
  }

  private void start(ReplicaId slot, String hash) {
    if (startable(slot)) {
      begin(slot, hash);
    } else if (wanted.mayStart() && !wanted.halted().contains(slot)) {
      Instant from = Objects.requireNonNull(wanted.notBefore().get(slot)).minus(AHEAD);
      if (!now.isBefore(from)) {
        wantedAhead.put(slot, hash);
      } else if (wanted.ahead()) {
        lookAt(from);
      }
    }
  }

  /** In the container that was made for it before; one that is being made is waited for. */
  private void begin(ReplicaId slot, String hash) {
    keptAhead.add(slot);
    Optional<ObservedReplica> ahead =
        bySlot.getOrDefault(slot, List.of()).stream()
            .filter(one -> wanted.ahead() && fits(one, hash))
            .findFirst();
    if (ahead.isEmpty()) {
      actions.add(new Action.Start(slot, hash));
    } else if (ahead.get().phase() == Phase.PREPARED) {
      actions.add(new Action.Release(slot, ahead.get().generation()));
    }
  }

  private static boolean fits(ObservedReplica one, String hash) {
    return one.ahead() && one.hash().equals(hash);
  }

  /** Has containers made that are started later, and removes those that nobody waits for. */
  private void ahead() {
    wanted
        .slots()
        .forEach(
            (slot, hash) -> {
              List<ObservedReplica> all =
                  bySlot.getOrDefault(slot, List.of()).stream()
                      .filter(ObservedReplica::ahead)
                      .toList();
              boolean awaited =
                  wanted.ahead() && (keptAhead.contains(slot) || wantedAhead.containsKey(slot));
              Optional<ObservedReplica> kept =
                  all.stream().filter(one -> awaited && fits(one, hash)).findFirst();
              all.stream()
                  .filter(one -> !kept.equals(Optional.of(one)))
                  .forEach(one -> away(one, "nobody waits for it"));
              if (wanted.ahead() && wantedAhead.containsKey(slot) && all.isEmpty()) {
                actions.add(new Action.Prepare(slot, hash));
              }
            });
  }

  private boolean startable(ReplicaId slot) {
    Optional<Instant> notBefore = Optional.ofNullable(wanted.notBefore().get(slot));
    if (notBefore.isPresent() && now.isBefore(notBefore.get())) {
      lookAt(notBefore.get());
      return false;
    }
    return wanted.mayStart() && !wanted.halted().contains(slot);
  }

  /** An outdated one counts while it is healthy, a new one when it has been so long enough. */
  private boolean counts(ObservedReplica one) {
    boolean isNew = one.hash().equals(wanted.slots().get(one.slot()));
    return one.healthy() && (!isNew || settled(one));
  }

  private boolean settled(ObservedReplica one) {
    if (!one.healthy()) {
      return false;
    }
    Instant from = Saturating.plus(one.healthySince().orElse(now), wanted.settling());
    if (now.isBefore(from)) {
      lookAt(from);
      return false;
    }
    return true;
  }

  private void away(ObservedReplica one, String reason) {
    if (one.phase() == Phase.STOPPING || one.phase() == Phase.PREPARING) {
      return; // it goes when it is made
    }
    if (one.live()) {
      actions.add(new Action.Stop(one.slot(), one.generation(), reason));
    } else {
      remove(one);
    }
  }

  private void remove(ObservedReplica one) {
    actions.add(new Action.Remove(one.slot(), one.generation()));
  }

  private void lookAt(Instant time) {
    lookAgain = Optional.of(lookAgain.filter(time::isAfter).orElse(time));
  }
}
