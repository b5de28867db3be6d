package dev.zlayer.engine.job;

/** Something to do once the decision behind it is durable. */
sealed interface JobEffect {
  /**
   * Begin an attempt, or go on with one that an earlier process of the agent began.
   *
   * @param given whether it was given a container made ahead when it was triggered
   */
  record Launch(Execution execution, boolean given) implements JobEffect {}

  /** End a run. */
  record Halt(ExecutionId id, Why why) implements JobEffect {}

  /** Remove the files of an execution that is kept no longer. */
  record Discard(ExecutionId id) implements JobEffect {}

  /** Remove containers that no run needs any more. */
  record Tidy() implements JobEffect {}

  /** Why a run is ended from outside. */
  enum Why {
    CANCELLED,
    DEADLINE
  }
}
