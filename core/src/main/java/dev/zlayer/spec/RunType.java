package dev.zlayer.spec;

/** How a workload lives. */
public enum RunType {
  /** Runs until it is removed; restarted when it ends. */
  SERVICE,
  /** Runs to its end when triggered. */
  JOB,
  /** A job triggered by its schedule. */
  CRON
}
