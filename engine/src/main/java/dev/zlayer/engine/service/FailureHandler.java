package dev.zlayer.engine.service;

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
  private static final int PATIENCE = 3;

  private final PendingChanges notes;
  private final DesiredState desired;
  private final ServiceRevision.Shelf shelf;
  private final RandomGenerator random;

  FailureHandler(
      PendingChanges notes,
      DesiredState desired,
      ServiceRevision.Shelf shelf,
      RandomGenerator random) {
    this.notes = notes;
    this.desired = desired;
    this.shelf = shelf;
    this.random = random;
  }

  void startFailed(
      TrackedContainer live, AgentException error, Optional<String> phase, Instant now) {
    Failure failure = Failure.of(error, phase, now);
    notes.tell(now, "replica.failed", live.id, Optional.of(failure));
    if (!desired.current(live)) {
      return;
    }
    Blame blame = error.blame();
    boolean outside = blame == Blame.OUTSIDE || blame == Blame.SELF;
    int tries = notes.record().slot(live.slot).failures() + 1;
    if (takesBack(live, failure, outside ? tries >= PATIENCE : true, now)) {
      return;
    }
    boolean hopeless =
        blame == Blame.REQUEST
            || blame == Blame.PLACEMENT
            || error instanceof AgentException.InitActionFailed;
    if (hopeless) {
      notes.change(
          live.slot, slot -> slot.halted(ReplicaRecord.Halt.GIVEN_UP, Optional.of(failure)));
    } else if (outside) {
      Duration pause = RestartPolicy.patience(tries - 1, random);
      notes.change(live.slot, slot -> slot.failed(failure, Saturating.plus(now, pause)));
    } else {
      apply(live, failure, false, now);
    }
  }

  void ended(TrackedContainer live, Outcome outcome, List<String> lastLines, Instant now) {
    Failure failure = Failure.exited(live.id.toString(), outcome.status(), lastLines, now);
    notes.tell(now, "replica.exited", live.id, Optional.of(failure));
    // when nobody saw how it ended, for example because the machine lost power, it is no fault
    if (!desired.current(live) || outcome.status() instanceof ExitStatus.Unknown) {
      return;
    }
    Duration ran =
        Duration.between(outcome.startedAt().orElse(now), outcome.finishedAt().orElse(now));
    if (ran.compareTo(RestartPolicy.RESET) >= 0) {
      notes.change(live.slot, ReplicaRecord::proved);
    }
    if (!takesBack(live, failure, true, now)) {
      apply(live, failure, outcome.status().success(), now);
    }
  }

  void unhealthy(TrackedContainer live, HealthSpec spec, Instant now) {
    var error = new AgentException.HealthCheckFailed(live.id.toString(), live.health.output());
    Failure failure = Failure.of(error, now);
    notes.tell(now, "replica.unhealthy", live.id, Optional.of(failure));
    if (!desired.current(live) || takesBack(live, failure, true, now)) {
      return;
    }
    switch (spec.onUnhealthy()) {
      case RESTART -> {
        live.condemned = true;
        ReplicaRecord slot = notes.record().slot(live.slot);
        Duration pause = RestartPolicy.again(slot.failures(), random);
        notes.change(live.slot, one -> one.failed(failure, Saturating.plus(now, pause)));
      }
      case STOP -> {
        live.condemned = true;
        notes.change(
            live.slot, one -> one.halted(ReplicaRecord.Halt.GIVEN_UP, Optional.of(failure)));
      }
      case NONE -> {}
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
    notes.tell(now, "service.failed", Optional.of(failure));
    if ((!waits || desired.failures() >= PATIENCE) && mayTakeBack()) {
      takeBack(failure, now);
    }
  }

  /** Goes back to the last good revision when the new one fails on its way. */
  private boolean takesBack(TrackedContainer live, Failure failure, boolean enough, Instant now) {
    boolean possible = enough && live.revision == notes.record().revision() && mayTakeBack();
    if (possible) {
      takeBack(failure, now);
    }
    return possible;
  }

  private boolean mayTakeBack() {
    ServiceRecord record = notes.record();
    return record.takenBack().isEmpty()
        && record.good().filter(good -> good != record.revision()).isPresent()
        && desired.rollback()
        && shelf.find(record.key().service(), record.good().orElseThrow()).isPresent();
  }

  private void takeBack(Failure failure, Instant now) {
    notes.replace(notes.record().takenBack(failure));
    notes.tell(now, "service.rolled_back", Optional.of(failure));
    desired.reconsider();
  }

  private void apply(TrackedContainer live, Failure failure, boolean success, Instant now) {
    ReplicaRecord slot = notes.record().slot(live.slot);
    switch (RestartPolicy.judge(desired.lifecycle(), success, slot.failures(), random)) {
      case RestartPolicy.Verdict.Again(Duration pause) -> {
        notes.change(live.slot, one -> one.failed(failure, Saturating.plus(now, pause)));
        if (slot.failures() + 1 == RestartPolicy.CRASH_LOOP) {
          notes.tell(now, "service.crash_loop", Optional.of(failure));
        }
      }
      case RestartPolicy.Verdict.GivenUp _ ->
          notes.change(
              live.slot,
              one ->
                  success
                      ? one.halted(ReplicaRecord.Halt.DONE, Optional.empty())
                      : one.halted(ReplicaRecord.Halt.GIVEN_UP, Optional.of(failure)));
      case RestartPolicy.Verdict.Isolated() -> {
        notes.change(
            live.slot, one -> one.halted(ReplicaRecord.Halt.ISOLATED, Optional.of(failure)));
        notes.tell(now, "replica.isolated", live.id, Optional.of(failure));
      }
      case RestartPolicy.Verdict.Shutdown() -> {
        notes.replace(notes.record().shutdown(failure));
        notes.tell(now, "service.shutdown", Optional.of(failure));
      }
    }
  }
}
