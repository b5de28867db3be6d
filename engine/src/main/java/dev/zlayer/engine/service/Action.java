package dev.zlayer.engine.service;

/** A small step towards what is wanted. */
sealed interface Action {
  /** Make a container of a replica and start it. */
  record Start(ReplicaId slot, String hash) implements Action {}

  /** Make a container of a replica that will be started soon. */
  record Prepare(ReplicaId slot, String hash) implements Action {}

  /** Start a container that was made before its time. */
  record Release(ReplicaId slot, long generation) implements Action {}

  /** Take a container out of rotation, end it, take it away. */
  record Stop(ReplicaId slot, long generation, String reason) implements Action {}

  /** Take a container away that does not run. */
  record Remove(ReplicaId slot, long generation) implements Action {}
}
