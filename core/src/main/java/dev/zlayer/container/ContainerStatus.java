package dev.zlayer.container;

import dev.zlayer.error.AgentException;
import java.time.Instant;
import java.util.EnumSet;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Where a container stands in its life.
 *
 * <pre>
 *             start            stop, kill, own exit
 *   Created ---------> Running ----------------------> Exited ---+
 *      |               |  ^  |                         ^  |      |
 *      |         pause |  |  | stop                    |  |      | start: the same root
 *      |               v  |  v                         |  |      | file system, a new process
 *      |             Paused  Stopping -----------------+  |      |
 *      |               |        process ended             |      |
 *      |               +----------------------------------+      |
 *      |                    kill, own exit                       |
 *      |  start failed                                           |
 *      +-----------------------------> Exited         Running <--+
 *
 *   start failed again: Exited -> Exited, with the new reason
 *   prepare: Created -> Prepared, which goes on as Created does; what undoes it leads back
 *   remove: Created, Prepared, Exited, Unknown -> Removed (forced: from every state)
 *   Unknown: the runtime cannot tell at the moment; from it and into it every move is possible
 * </pre>
 *
 * {@link #next} is the law of this drawing: a move that is not in it is refused as a fault of ours.
 */
public sealed interface ContainerStatus {
  /** Made, with its file system and network, and never started. */
  record Created() implements ContainerStatus {}

  /** Never started, but its process is made and waits before its first instruction. */
  record Prepared(Instant since, OptionalLong pid) implements ContainerStatus {}

  /** Its process runs; no pid where the runtime has none to tell. */
  record Running(Instant startedAt, OptionalLong pid) implements ContainerStatus {}

  /** Its processes are frozen. */
  record Paused(Instant startedAt, OptionalLong pid) implements ContainerStatus {}

  /** It was told to end and has not ended yet. */
  record Stopping(Instant startedAt) implements ContainerStatus {}

  /** Its process has ended; logs and files are still there. */
  record Exited(Outcome outcome) implements ContainerStatus {}

  /** The runtime cannot tell now: a tool hangs, a record is damaged. */
  record Unknown(String reason) implements ContainerStatus {}

  /** It is gone for good. */
  record Removed() implements ContainerStatus {}

  /** The shape of a status without its facts. */
  enum Phase {
    CREATED,
    PREPARED,
    RUNNING,
    PAUSED,
    STOPPING,
    EXITED,
    UNKNOWN,
    REMOVED;

    private static final Map<Phase, Set<Phase>> MOVES =
        Map.of(
            CREATED, EnumSet.of(PREPARED, RUNNING, EXITED, UNKNOWN, REMOVED),
            PREPARED, EnumSet.of(CREATED, RUNNING, EXITED, UNKNOWN, REMOVED),
            RUNNING, EnumSet.of(PAUSED, STOPPING, EXITED, UNKNOWN, REMOVED),
            PAUSED, EnumSet.of(RUNNING, STOPPING, EXITED, UNKNOWN, REMOVED),
            STOPPING, EnumSet.of(EXITED, UNKNOWN, REMOVED),
            EXITED, EnumSet.of(RUNNING, EXITED, UNKNOWN, REMOVED),
            UNKNOWN, EnumSet.allOf(Phase.class),
            REMOVED, EnumSet.noneOf(Phase.class));

    public boolean canBecome(Phase next) {
      return MOVES.getOrDefault(this, Set.of()).contains(next);
    }

    /** Nothing follows any more. */
    public boolean terminal() {
      return this == REMOVED;
    }
  }

  default Phase phase() {
    return switch (this) {
      case Created _ -> Phase.CREATED;
      case Prepared _ -> Phase.PREPARED;
      case Running _ -> Phase.RUNNING;
      case Paused _ -> Phase.PAUSED;
      case Stopping _ -> Phase.STOPPING;
      case Exited _ -> Phase.EXITED;
      case Unknown _ -> Phase.UNKNOWN;
      case Removed _ -> Phase.REMOVED;
    };
  }

  /** Whether a process of it runs, is frozen or about to end. */
  default boolean alive() {
    return switch (phase()) {
      case RUNNING, PAUSED, STOPPING -> true;
      case CREATED, PREPARED, EXITED, UNKNOWN, REMOVED -> false;
    };
  }

  /** Moves on, or throws {@link AgentException.Internal} when the drawing has no such arrow. */
  default ContainerStatus next(ContainerStatus next) {
    if (!phase().canBecome(next.phase())) {
      throw new AgentException.Internal(
          "a container cannot go from %s to %s".formatted(phase(), next.phase()));
    }
    return next;
  }
}
