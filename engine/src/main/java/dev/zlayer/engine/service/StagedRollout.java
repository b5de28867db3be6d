package dev.zlayer.engine.service;

import dev.zlayer.error.AgentException;
import dev.zlayer.port.Rotation;
import dev.zlayer.spec.service.UpdateSpec;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Where a roll-out in stages is. The stage is durable; what was counted in it is not, so after a
 * restart of the agent it is watched anew. Part of the {@link ServiceReconciler}.
 */
final class StagedRollout {
  private static final Duration LONGEST = Duration.ofSeconds(2);
  private static final Duration SHORTEST = Duration.ofMillis(200);
  private static final int READINGS = 5;
  private static final long ENOUGH = 20;

  private final DesiredState desired;
  private final PendingChanges changes;
  private Optional<Instant> since = Optional.empty();
  private final Map<String, Rotation.Served> begun = new HashMap<>();
  private RolloutPlanner.Served fresh = RolloutPlanner.Served.NONE;
  private double oldRate;
  private Instant next = Instant.MIN;
  private boolean counting;

  StagedRollout(DesiredState desired, PendingChanges changes) {
    this.desired = desired;
    this.changes = changes;
  }

  private UpdateSpec update() {
    return desired.lifecycle().update();
  }

  private List<RolloutPlanner.Stage> stages() {
    return RolloutPlanner.stages(update(), desired.slots().size());
  }

  /** A revision that is new to a service that works, and is not taken back. */
  private boolean applies() {
    ServiceRecord record = changes.record();
    return update().strategy().staged()
        && record.takenBack().isEmpty()
        && record.good().filter(good -> good != record.desired()).isPresent();
  }

  /** The stage, while old containers that serve have to stay. */
  private Optional<RolloutPlanner.Stage> stage(Collection<TrackedContainer> lives) {
    boolean old = lives.stream().anyMatch(live -> live.ready() && !desired.current(live));
    if (!applies() || !old || !desired.resolvedAll()) {
      return Optional.empty();
    }
    List<RolloutPlanner.Stage> stages = stages();
    int step = changes.record().step().orElse(0);
    return step < stages.size() ? Optional.of(stages.get(step)) : Optional.empty();
  }

  /** What there should be, as far as the stage allows. */
  DesiredReplicas limit(DesiredReplicas wanted, Collection<TrackedContainer> lives) {
    return stage(lives).map(stage -> wanted.keepingOld(stage.fresh())).orElse(wanted);
  }

  /** The share of the requests that new replicas get; nothing while all are equal. */
  OptionalDouble share() {
    ServiceRecord record = changes.record();
    if (record.takenBack().isPresent()) {
      return OptionalDouble.of(0);
    }
    if (!applies()) {
      return OptionalDouble.empty();
    }
    List<RolloutPlanner.Stage> stages = stages();
    int step = Math.min(record.step().orElse(0), stages.size() - 1);
    return OptionalDouble.of(stages.get(step).percent());
  }

  /**
   * Whether it is one of those that the share is for. Until it is known what replicas are made
   * from, after a restart of the agent, the revision that they were made for decides.
   */
  boolean isNew(TrackedContainer live) {
    boolean latest = live.revision == changes.record().revision();
    if (changes.record().takenBack().isPresent()) {
      return latest && !desired.current(live);
    }
    return desired.resolvedAll() ? desired.current(live) : latest;
  }

  /** The stage in words, while there is one. */
  Optional<String> text(Collection<TrackedContainer> lives) {
    return stage(lives)
        .map(
            stage ->
                "%s, %s of the requests go to new replicas"
                    .formatted(
                        update().strategy().name().toLowerCase(Locale.ROOT),
                        RolloutPlanner.share(stage)));
  }

  /** A reading, when it is time for one; the verdict follows from it. */
  Optional<Effect> due(Collection<TrackedContainer> lives, Instant now) {
    if (stage(lives).isEmpty()) {
      begin();
      return Optional.empty();
    }
    if (counting || now.isBefore(next)) {
      changes.lookAt(next);
      return Optional.empty();
    }
    counting = true;
    next = Saturating.plus(now, pause());
    changes.lookAt(next);
    return Optional.of(new Effect.CountRequests(true));
  }

  private Duration pause() {
    Duration part = update().bakeTime().dividedBy(READINGS);
    return part.compareTo(LONGEST) > 0 ? LONGEST : part.compareTo(SHORTEST) < 0 ? SHORTEST : part;
  }

  private void begin() {
    since = Optional.empty();
    begun.clear();
    fresh = RolloutPlanner.Served.NONE;
  }

  /** Returns why the revision has to be taken back, if so. */
  Optional<Failure> counted(
      Collection<TrackedContainer> lives, Optional<Rotation.Requests> requests, Instant now) {
    counting = false;
    Optional<RolloutPlanner.Stage> stage = stage(lives);
    if (stage.isEmpty()) {
      return Optional.empty();
    }
    if (since.isEmpty()) {
      since = Optional.of(now);
    }
    requests.ifPresent(known -> add(lives, known.members()));
    int ready =
        (int)
            lives.stream()
                .filter(
                    live ->
                        desired.current(live)
                            && live.ready()
                            && !now.isBefore(desired.settledAt(live)))
                .count();
    return switch (RolloutPlanner.judge(update(), stage.get(), ready, since, fresh, oldRate, now)) {
      case WAIT -> Optional.empty();
      case NEXT -> {
        int step = changes.record().step().orElse(0) + 1;
        changes.replace(changes.record().atStep(step));
        begin();
        stage(lives)
            .filter(RolloutPlanner.Stage::watched)
            .ifPresent(
                reached ->
                    changes.event(
                        now,
                        "service.rollout_step",
                        RolloutPlanner.share(reached) + " of the requests go to new replicas"));
        changes.lookAt(now);
        yield Optional.empty();
      }
      case BACK -> {
        String reason = RolloutPlanner.reason(update(), stage.get(), fresh, oldRate);
        begin();
        yield Optional.of(
            Failure.of(
                new AgentException.HealthCheckFailed(changes.record().key().toString(), reason),
                now));
      }
    };
  }

  /** Counts go on from what others had in their place before, and may begin again. */
  private void add(Collection<TrackedContainer> lives, Map<String, Rotation.Served> members) {
    var news = RolloutPlanner.Served.NONE;
    var olds = RolloutPlanner.Served.NONE;
    for (TrackedContainer live : lives) {
      String name = live.id.runtimeName();
      Rotation.Served now = members.get(name);
      if (now == null) {
        continue;
      }
      Rotation.Served before = begun.putIfAbsent(name, now);
      if (before == null || now.requests() < before.requests()) {
        begun.put(name, now);
        continue;
      }
      var served =
          new RolloutPlanner.Served(
              now.requests() - before.requests(), Math.max(0, now.errors() - before.errors()));
      if (desired.current(live)) {
        news = sum(news, served);
      } else {
        olds = sum(olds, served);
      }
    }
    fresh = news;
    if (olds.requests() >= ENOUGH) {
      oldRate = olds.rate();
    }
  }

  private static RolloutPlanner.Served sum(RolloutPlanner.Served one, RolloutPlanner.Served other) {
    return new RolloutPlanner.Served(
        one.requests() + other.requests(), one.errors() + other.errors());
  }

  /** The wall clock was set: what waits for a time waits as long as before. */
  void clockMoved(Duration by) {
    since = since.map(time -> Saturating.plus(time, by));
    next = next.equals(Instant.MIN) ? next : Saturating.plus(next, by);
  }
}
