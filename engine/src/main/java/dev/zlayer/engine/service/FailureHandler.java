package dev.zlayer.engine.service;

import dev.zlayer.container.Claim;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.spec.service.HealthSpec;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * What follows when something goes wrong with a replica or a revision: try again later, give up,
 * isolate, stop the service, or go back to the last good revision. Part of the {@link
 * ServiceReconciler}.
 */
final class FailureHandler {
  /** Failed tries of something outside before a new revision is taken back. */
  private static final int ATTEMPTS = 3;

  private final PendingChanges changes;
  private final DesiredState desired;
  private final ServiceRevision.Lookup lookup;
  private final RandomGenerator random;

  FailureHandler(
      PendingChanges changes,
      DesiredState desired,
      ServiceRevision.Lookup lookup,
      RandomGenerator random) {
    this.changes = changes;
    this.desired = desired;
    this.lookup = lookup;
    this.random = random;
  }

  void startFailed(
      TrackedContainer live, AgentException error, Optional<String> phase, Instant now) {
    Failure failure = Failure.of(error, phase, now);
    changes.event(now, "replica.failed", live.id, Optional.of(failure));
    if (!desired.current(live)) {
      return;
    }
    Blame blame = error.blame();
    boolean outside = blame == Blame.OUTSIDE || blame == Blame.SELF || waitsForGpu(error);
    int tries = changes.record().slot(live.slot).failures() + 1;
    if (takesBack(live, failure, outside ? tries >= ATTEMPTS : true, now)) {
      return;
    }
    boolean hopeless =
        !outside
            && (blame == Blame.REQUEST
                || blame == Blame.PLACEMENT
                || error instanceof AgentException.InitActionFailed);
    if (hopeless) {
      changes.change(
          live.slot, slot -> slot.halted(ReplicaRecord.Halt.GIVEN_UP, Optional.of(failure)));
      changes.event(now, "service.gave_up", Optional.of(failure));
    } else if (outside) {
      Duration pause = RestartPolicy.patience(tries - 1, random);
      changes.change(live.slot, slot -> slot.failed(failure, Saturating.plus(now, pause)));
    } else {
      apply(live, failure, false, now);
    }
  }

  /** A cluster has given it to this replica, so whoever has it still leaves it. */
  private boolean waitsForGpu(AgentException error) {
    return error instanceof AgentException.GpuSharingUnavailable && desired.placed();
  }

  void ended(TrackedContainer live, Outcome outcome, List<String> lastLines, Instant now) {
    Failure failure = Failure.exited(live.id.toString(), outcome.status(), lastLines, now);
    changes.event(now, "replica.exited", live.id, Optional.of(failure));
    // when nobody saw how it ended, for example because the machine lost power, it is no fault;
    // nor when the node lost the cluster
    boolean faultless =
        outcome.status() instanceof ExitStatus.Unknown || Claim.stopped(outcome.status());
    if (!desired.current(live) || faultless) {
      return;
    }
    Duration ran =
        Duration.between(outcome.startedAt().orElse(now), outcome.finishedAt().orElse(now));
    if (ran.compareTo(RestartPolicy.RESET) >= 0) {
      changes.change(live.slot, ReplicaRecord::proved);
    }
    if (!takesBack(live, failure, true, now)) {
      apply(live, failure, outcome.status().success(), now);
    }
  }

  void unhealthy(TrackedContainer live, HealthSpec spec, Instant now) {
    var error = new AgentException.HealthCheckFailed(live.id.toString(), live.health.output());
    Failure failure = Failure.of(error, now);
    changes.event(now, "replica.unhealthy", live.id, Optional.of(failure));
    if (!desired.current(live) || takesBack(live, failure, true, now)) {
      return;
    }
    switch (spec.onUnhealthy()) {
      case RESTART -> {
        live.condemned = true;
        ReplicaRecord slot = changes.record().slot(live.slot);
        Duration pause = RestartPolicy.again(slot.failures(), random);
        changes.change(live.slot, one -> one.failed(failure, Saturating.plus(now, pause)));
      }
      case STOP -> {
        live.condemned = true;
        changes.change(
            live.slot, one -> one.halted(ReplicaRecord.Halt.GIVEN_UP, Optional.of(failure)));
        changes.event(now, "service.gave_up", Optional.of(failure));
      }
      case NONE -> {}
    }
  }

  /** Too many requests to new replicas fail. */
  void failing(Failure failure, Instant now) {
    if (mayTakeBack()) {
      takeBack(failure, now);
    }
  }

  /** The image or a value of a revision could not be had. */
  void unresolved(
      ServiceRevision blueprint, AgentException error, Optional<String> phase, Instant now) {
    Failure failure = Failure.of(error, phase, now);
    boolean waits = error.blame() == Blame.OUTSIDE || error.blame() == Blame.SELF;
    if (!desired.unresolved(blueprint, failure, waits, random, now)) {
      return;
    }
    changes.event(now, "service.failed", Optional.of(failure));
    if ((!waits || desired.failures() >= ATTEMPTS) && mayTakeBack()) {
      takeBack(failure, now);
    }
  }

  /** Goes back to the last good revision when the new one fails on its way. */
  private boolean takesBack(TrackedContainer live, Failure failure, boolean enough, Instant now) {
    boolean possible = enough && live.revision == changes.record().revision() && mayTakeBack();
    if (possible) {
      takeBack(failure, now);
    }
    return possible;
  }

  private boolean mayTakeBack() {
    ServiceRecord record = changes.record();
    return record.takenBack().isEmpty()
        && record.good().filter(good -> good != record.revision()).isPresent()
        && desired.rollback()
        && lookup.find(record.key().service(), record.good().orElseThrow()).isPresent();
  }

  private void takeBack(Failure failure, Instant now) {
    changes.replace(changes.record().takenBack(failure));
    changes.event(now, "service.rolled_back", Optional.of(failure));
    desired.reconsider();
  }

  private void apply(TrackedContainer live, Failure failure, boolean success, Instant now) {
    ReplicaRecord slot = changes.record().slot(live.slot);
    switch (RestartPolicy.judge(desired.lifecycle(), success, slot.failures(), random)) {
      case RestartPolicy.Verdict.Again(Duration pause) -> {
        changes.change(live.slot, one -> one.failed(failure, Saturating.plus(now, pause)));
        if (slot.failures() + 1 == RestartPolicy.CRASH_LOOP) {
          changes.event(now, "service.crash_loop", Optional.of(failure));
        }
      }
      case RestartPolicy.Verdict.GivenUp _ -> {
        changes.change(
            live.slot,
            one ->
                success
                    ? one.halted(ReplicaRecord.Halt.DONE, Optional.empty())
                    : one.halted(ReplicaRecord.Halt.GIVEN_UP, Optional.of(failure)));
        if (!success) {
          changes.event(now, "service.gave_up", Optional.of(failure));
        }
      }
      case RestartPolicy.Verdict.Isolated() -> {
        changes.change(
            live.slot, one -> one.halted(ReplicaRecord.Halt.ISOLATED, Optional.of(failure)));
        changes.event(now, "replica.isolated", live.id, Optional.of(failure));
      }
      case RestartPolicy.Verdict.Shutdown() -> {
        changes.replace(changes.record().shutdown(failure));
        changes.event(now, "service.shutdown", Optional.of(failure));
      }
    }
  }
}
