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
      case LEFTOVER, ENDED, KEPT -> false;
    };
  }

  boolean healthy() {
    return phase == Phase.HEALTHY;
  }
}
