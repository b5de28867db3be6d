package dev.zlayer.engine.job;

import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import java.util.List;
import java.util.Optional;

/**
 * What a run reports of its end: how the process ended, or what kept it from running.
 *
 * @param phase what was being done when it failed; empty when the process ran
 * @param log the kept output as {@link OutputCodec} writes it, unless it is long and in a file
 */
@SuppressWarnings("ArrayRecordComponent") // output is bytes, never compared
record AttemptEnd(
    Optional<Outcome> outcome,
    Optional<AgentException> error,
    Optional<String> phase,
    byte[] log,
    Attempt.Output output,
    List<Attempt.Artifact> artifacts,
    List<String> notes) {
  static AttemptEnd failed(AgentException error) {
    return new AttemptEnd(
        Optional.empty(),
        Optional.of(error),
        Optional.empty(),
        new byte[0],
        Attempt.Output.NONE,
        List.of(),
        List.of());
  }

  static AttemptEnd neverRan() {
    return new AttemptEnd(
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        new byte[0],
        Attempt.Output.NONE,
        List.of(),
        List.of());
  }

  /** The same end, when what it left cannot be recorded. */
  AttemptEnd withoutOutput(AgentException reason) {
    return new AttemptEnd(
        outcome,
        error,
        phase,
        new byte[0],
        Attempt.Output.NONE,
        List.of(),
        List.of("output and artifacts could not be recorded: " + reason.getMessage()));
  }

  AttemptEnd with(AgentException error) {
    return new AttemptEnd(outcome, Optional.of(error), phase, log, output, artifacts, notes);
  }

  AttemptEnd during(String phase) {
    return new AttemptEnd(outcome, error, Optional.of(phase), log, output, artifacts, notes);
  }

  /** Why it failed, with what was being done then. */
  Optional<String> reason() {
    return error.map(
        why ->
            phase.map(doing -> doing + " failed: ").orElse("") + String.valueOf(why.getMessage()));
  }
}
