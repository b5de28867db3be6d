package dev.zlayer.engine.init;

import dev.zlayer.task.Deadline;

/** One action, ready to be done; can be done again after it failed. */
@FunctionalInterface
interface PreparedAction {
  /**
   * Returns the output when there is some to keep, else an empty text.
   *
   * @throws dev.zlayer.error.AgentException it failed, or its own time limit passed
   */
  String perform(Deadline deadline) throws InterruptedException;
}
