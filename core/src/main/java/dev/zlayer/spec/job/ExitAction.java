package dev.zlayer.spec.job;

/** What an exit code of a job means. */
public enum ExitAction {
  /** Try again while there are retries left. */
  RETRY,
  /** Failed for good. */
  FAIL,
  /** As good as 0. */
  SUCCEED
}
