package dev.zlayer.engine.job;

import java.time.Instant;
import java.util.Optional;

/** Who asked for an execution. */
public sealed interface Trigger {
  /** A person at the command line. */
  record Cli() implements Trigger {}

  /** A request to the agent's interface. */
  record Endpoint(Optional<String> remoteAddress) implements Trigger {}

  /** The schedule; {@code due} is the time it names, not the time it was seen. */
  record Scheduler(Instant due) implements Trigger {}

  /** The agent itself; the reason says what for. */
  record Internal(String reason) implements Trigger {}
}
