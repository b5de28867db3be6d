package dev.zlayer.engine.service;

/** Where one replica stands. */
public enum ReplicaState {
  /** It has no container: it waits for its turn or its next try. */
  WAITING,
  /** Its image, init steps and container are being made. */
  STARTING,
  RUNNING,
  /** It is out of rotation and told to end. */
  STOPPING,
  /** Its process has ended and is not started again. */
  EXITED,
  /** It has failed and is kept for inspection, out of rotation. */
  ISOLATED
}
