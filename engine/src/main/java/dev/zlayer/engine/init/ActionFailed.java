package dev.zlayer.engine.init;

import dev.zlayer.error.AgentException;

/**
 * Says that an action failed in a way that carries output; turned into one of ours by the runner.
 */
final class ActionFailed extends RuntimeException {
  private final String log;

  ActionFailed(String reason, String log) {
    super(reason);
    this.log = log;
  }

  String log() {
    return log;
  }

  /** The reason of any failure, for people. */
  static String reason(RuntimeException failure) {
    return failure instanceof AgentException || failure instanceof ActionFailed
        ? String.valueOf(failure.getMessage())
        : failure.toString();
  }
}
