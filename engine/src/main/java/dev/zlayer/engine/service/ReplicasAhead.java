package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.port.Container;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Containers that are created before their time: for which replicas, and for how long they wait.
 * Part of the {@link ServiceReconciler}.
 */
final class ReplicasAhead {
  /** One that waits longer is removed. */
  static final Duration UNUSED = Duration.ofMinutes(10);

  private final PendingChanges changes;
  private final Map<ContainerId, TrackedContainer> lives;

  /** Those whose next container is made when it is started: one made ahead failed or was unused. */
  private final Set<ReplicaId> without = new HashSet<>();

  private boolean able;

  ReplicasAhead(PendingChanges changes, Map<ContainerId, TrackedContainer> lives) {
    this.changes = changes;
    this.lives = lives;
  }

  /** Whether the runtime knows how to; until it is said it does not. */
  void able(boolean able) {
    this.able = able;
  }

  boolean mayPrepare(ReplicaId slot) {
    return able && !without.contains(slot);
  }

  void prepared(ContainerId id, Container container, Instant now) {
    TrackedContainer live = lives.get(id);
    if (live != null) {
      live.busy = TrackedContainer.Busy.NO;
      live.handle = container;
      live.preparedAt = Optional.of(now);
    }
  }

  /**
   * It is made when it is started; what is wrong will be said then.
   *
   * @param left what was made of it and could not be removed
   */
  void notPrepared(ContainerId id, Optional<Container> left, boolean unsupported) {
    TrackedContainer live = lives.get(id);
    if (live == null) {
      return;
    }
    without.add(live.slot);
    able &= !unsupported;
    if (left.isPresent()) {
      live.busy = TrackedContainer.Busy.NO;
      live.handle = left.get();
      live.neverRan();
    } else {
      lives.remove(id);
    }
  }

  /** The replica has what it waited for. */
  void started(ReplicaId slot) {
    without.remove(slot);
  }

  /** One that has waited too long, or whose process has ended, is none any more. */
  void expire(Instant now) {
    for (TrackedContainer live : lives.values()) {
      if (live.busy != TrackedContainer.Busy.NO || live.preparedAt.isEmpty()) {
        continue;
      }
      Instant until = live.preparedAt.get().plus(UNUSED);
      if (live.waits() && now.isBefore(until)) {
        changes.lookAt(until);
      } else {
        live.preparedAt = Optional.empty();
        without.add(live.slot);
      }
    }
  }
}
