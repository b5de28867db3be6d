package dev.zlayer.engine.service;

/** Where a service stands as a whole. */
public enum ServiceState {
  /** It waits for what it depends on. */
  WAITING,
  /** Replicas are being started or replaced. */
  DEPLOYING,
  /** As many replicas as wanted run what is wanted and are healthy. */
  RUNNING,
  /** Some replicas are missing or unhealthy; it is being mended. */
  DEGRADED,
  /** Replicas end again and again; restarts wait longer and longer. */
  CRASH_LOOP,
  /** It cannot be made true without a person; the last error says why. */
  FAILED,
  /** It has no replica because there are no requests; the next one starts it. */
  IDLE,
  /** Somebody stopped it, or it is told to have no replica. */
  STOPPED,
  /** It is being taken away. */
  REMOVING;

  /** Nothing more will happen by itself soon. */
  public boolean settled() {
    return switch (this) {
      case RUNNING, CRASH_LOOP, FAILED, IDLE, STOPPED -> true;
      case WAITING, DEPLOYING, DEGRADED, REMOVING -> false;
    };
  }
}
