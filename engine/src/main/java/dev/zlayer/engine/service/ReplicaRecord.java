package dev.zlayer.engine.service;

import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * What is remembered of one replica beyond its containers.
 *
 * @param failures ends and failed starts in a row
 * @param restarts containers made because an earlier one had ended or was unhealthy
 * @param notBefore when the next one may be made
 * @param halt why no further one is made
 */
record ReplicaRecord(
    int failures,
    int restarts,
    Optional<Instant> notBefore,
    Halt halt,
    Optional<Failure> lastError) {
  /** Why a replica has no process and gets none. */
  enum Halt {
    NONE,
    /** Its restart policy says so, or what is wanted cannot be made. */
    GIVEN_UP,
    /** It ended well and its restart policy has nothing against that. */
    DONE,
    /** It failed and is kept for inspection. */
    ISOLATED
  }

  static final ReplicaRecord FRESH =
      new ReplicaRecord(0, 0, Optional.empty(), Halt.NONE, Optional.empty());

  /** Another try follows at {@code notBefore}. */
  ReplicaRecord failed(Failure failure, Instant notBefore) {
    return new ReplicaRecord(
        failures + 1, restarts + 1, Optional.of(notBefore), Halt.NONE, Optional.of(failure));
  }

  ReplicaRecord halted(Halt halt, Optional<Failure> failure) {
    return new ReplicaRecord(
        failures, restarts, Optional.empty(), halt, failure.or(() -> lastError));
  }

  /** It has proved itself. */
  ReplicaRecord proved() {
    return new ReplicaRecord(0, restarts, Optional.empty(), halt, lastError);
  }

  /** Something else is wanted, or somebody asked for another try. */
  ReplicaRecord again() {
    return new ReplicaRecord(0, restarts, Optional.empty(), Halt.NONE, lastError);
  }

  /** What went wrong with an earlier file says nothing about the next one. */
  ReplicaRecord withoutError() {
    return new ReplicaRecord(failures, restarts, notBefore, halt, Optional.empty());
  }

  ReplicaRecord clockMoved(Duration by) {
    return with(notBefore.map(time -> Saturating.plus(time, by)));
  }

  ReplicaRecord notAfter(Instant latest) {
    return with(notBefore.map(time -> time.isAfter(latest) ? latest : time));
  }

  private ReplicaRecord with(Optional<Instant> notBefore) {
    return new ReplicaRecord(failures, restarts, notBefore, halt, lastError);
  }

  boolean halted() {
    return halt != Halt.NONE;
  }
}
