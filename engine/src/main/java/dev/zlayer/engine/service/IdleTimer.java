package dev.zlayer.engine.service;

import dev.zlayer.port.Rotation;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * Sees when nobody has sent requests to a service for so long that it needs no replica. Part of the
 * {@link ServiceReconciler}; has no clock.
 */
final class IdleTimer {
  private static final Duration LONGEST = Duration.ofSeconds(10);
  private static final Duration SHORTEST = Duration.ofMillis(200);
  private static final int READINGS = 4;

  /** When requests were last seen; nothing before the first reading. */
  private Optional<Instant> activeAt = Optional.empty();

  private Optional<Rotation.Requests> before = Optional.empty();
  private Instant next = Instant.MIN;
  private boolean counting;

  /** A reading, when it is time for one. */
  Optional<Effect> due(ServiceReconciler reconciler, boolean judged, Instant now) {
    Optional<Duration> after = reconciler.desired.idleAfter();
    boolean wanted =
        after.isPresent() && judged && reconciler.desired.reached(reconciler.lives.values(), now);
    if (!wanted || reconciler.desired.slots().isEmpty()) {
      activeAt = Optional.empty(); // what is started or replaced is not idle
      before = Optional.empty();
      return Optional.empty();
    }
    if (counting || now.isBefore(next)) {
      reconciler.changes.lookAt(next);
      return Optional.empty();
    }
    counting = true;
    next = Saturating.plus(now, pause(after.get()));
    reconciler.changes.lookAt(next);
    return Optional.of(new Effect.CountRequests(false));
  }

  private static Duration pause(Duration idle) {
    Duration part = idle.dividedBy(READINGS);
    return part.compareTo(LONGEST) > 0 ? LONGEST : part.compareTo(SHORTEST) < 0 ? SHORTEST : part;
  }

  /** Nothing where requests could not be counted: then it counts as used. */
  void counted(ServiceReconciler reconciler, Optional<Rotation.Requests> fresh, Instant now) {
    counting = false;
    Optional<Duration> after = reconciler.desired.idleAfter();
    boolean quiet =
        fresh.isPresent()
            && fresh.get().open() == 0
            && before.map(old -> old.total() == fresh.get().total()).orElse(false);
    before = fresh;
    if (!quiet || activeAt.isEmpty()) {
      activeAt = Optional.of(now);
      return;
    }
    boolean over =
        after.filter(idle -> !now.isBefore(Saturating.plus(activeAt.get(), idle))).isPresent();
    if (over && reconciler.desired.reached(reconciler.lives.values(), now)) {
      reconciler.changes.replace(reconciler.record().becomeIdle());
      reconciler.changes.event(now, "service.idle", Optional.empty());
    }
  }

  /** The wall clock was set: what waits for a time waits as long as before. */
  void clockMoved(Duration by) {
    activeAt = activeAt.map(time -> Saturating.plus(time, by));
    next = next.equals(Instant.MIN) ? next : Saturating.plus(next, by);
  }
}
