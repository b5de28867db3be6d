package dev.zlayer.engine.health;

/** What is known about whether a replica works. */
public enum HealthState {
  /** No check has succeeded yet. */
  STARTING,
  HEALTHY,
  UNHEALTHY
}
