package dev.zlayer.engine.service;

import java.time.Instant;
import java.util.Optional;

/**
 * One container as the planner sees it.
 *
 * @param hash of what it was made from
 * @param healthySince when it became healthy; only while it is
 */
record ObservedReplica(
    ReplicaId slot, long generation, String hash, Phase phase, Optional<Instant> healthySince) {
  /** What a container is doing. */
  enum Phase {
    /** It is being made; nothing serves yet. */
    STARTING,
    /** Its process runs and has not proved to work. */
    RUNNING,
    /** Its process runs and works. */
    HEALTHY,
    /** Its process runs, does not work, and has to be replaced. */
    CONDEMNED,
    /** It is being taken away. */
    STOPPING,
    /** It is being created before its time. */
    PREPARING,
    /** It was created before its time, and waits for it. */
    PREPARED,
    /** It was made and never started, and nobody is about to. */
    LEFTOVER,
    /** Its process has ended; another container may take its place. */
    ENDED,
    /** Its process has ended and it stays to be looked at; its place is taken. */
    KEPT
  }

  /** Whether it has or is about to have a process. */
  boolean live() {
    return switch (phase) {
      case STARTING, RUNNING, HEALTHY, CONDEMNED, STOPPING -> true;
      case PREPARING, PREPARED, LEFTOVER, ENDED, KEPT -> false;
    };
  }

  /** Whether it takes the place of its replica. */
  boolean present() {
    return switch (phase) {
      case STARTING, RUNNING, HEALTHY, CONDEMNED, ENDED, KEPT -> true;
      case STOPPING, PREPARING, PREPARED, LEFTOVER -> false;
    };
  }

  /** Whether it was or is being created before its time. */
  boolean ahead() {
    return phase == Phase.PREPARING || phase == Phase.PREPARED;
  }

  boolean healthy() {
    return phase == Phase.HEALTHY;
  }
}
