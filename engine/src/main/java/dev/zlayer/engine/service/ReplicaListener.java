package dev.zlayer.engine.service;

import dev.zlayer.container.Outcome;
import dev.zlayer.port.Container;
import java.util.Optional;

/**
 * Hears what happens to the containers of services, at once and whatever is recorded of it. Called
 * on threads of the engine: must neither block nor throw.
 */
@FunctionalInterface
public interface ReplicaListener {
  ReplicaListener NONE = (_, _, _) -> {};

  /** What can happen to one. */
  enum Step {
    CREATED,
    STARTED,
    /** With its outcome; may come twice, from whoever stops it and from whoever watches it. */
    EXITED,
    STOPPED,
    /** Its handle can be asked for the last time. */
    REMOVING,
    REMOVED,
    HEALTHY,
    UNHEALTHY
  }

  void happened(Step step, Container container, Optional<Outcome> outcome);
}
