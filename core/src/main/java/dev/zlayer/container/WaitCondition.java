package dev.zlayer.container;

/** What {@code await} waits for. */
public enum WaitCondition {
  /** It does not run (any more); satisfied at once by a container that is created or has ended. */
  NOT_RUNNING,
  /** The next end of a run, even if it is not running now. */
  NEXT_EXIT,
  /** It has been removed. */
  REMOVED
}
