package dev.zlayer.error;

/**
 * Who has to act on a failure. Each blame has one reaction of the engine and one exit code of the
 * command line; nothing else decides on either.
 */
public enum Blame {
  /** The request is wrong: report it, never retry. */
  REQUEST,
  /** The workload failed by itself: apply its restart policy. */
  WORKLOAD,
  /** Something outside of this node failed: retry with back-off until the deadline. */
  OUTSIDE,
  /** The workload belongs on another node: hand the signal to the scheduler unchanged. */
  PLACEMENT,
  /** This agent or its set-up is at fault: log it with its stack. */
  SELF;

  /** The exit code of a command that failed with this blame. */
  public int exitCode() {
    return switch (this) {
      case REQUEST -> 2;
      case WORKLOAD -> 3;
      case OUTSIDE -> 4;
      case PLACEMENT -> 5;
      case SELF -> 1;
    };
  }
}
