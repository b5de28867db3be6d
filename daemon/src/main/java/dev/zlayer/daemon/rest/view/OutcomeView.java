package dev.zlayer.daemon.rest.view;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalInt;

/** How a run ended: the code as a shell shows it, the signal if one ended it, and why. */
public record OutcomeView(
    OptionalInt code,
    Optional<String> signal,
    boolean oom,
    String reason,
    Optional<Instant> started,
    Optional<Instant> finished) {
  public static OutcomeView of(Outcome outcome) {
    ExitStatus status = outcome.status();
    return new OutcomeView(
        status.exitCode(),
        status instanceof ExitStatus.Signalled(var signal)
            ? Optional.of(signal.signalName())
            : Optional.empty(),
        status instanceof ExitStatus.OutOfMemory,
        status.text(),
        outcome.startedAt(),
        outcome.finishedAt());
  }
}
