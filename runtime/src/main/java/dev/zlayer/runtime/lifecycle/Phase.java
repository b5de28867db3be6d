package dev.zlayer.runtime.lifecycle;

/** How far a container is. It is written before the step that it announces. */
public enum Phase {
  /** Being made: to be undone after a crash. */
  CREATING,
  CREATED,
  /** Being started: to be finished or undone after a crash. */
  STARTING,
  RUNNING,
  PAUSED,
  ENDED,
  /** Being removed: to be finished after a crash. */
  REMOVING
}
