package dev.zlayer.cli.command.container;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The time between asking a process to end and killing it, as the daemon reads it. */
final class StopTimeout {
  private StopTimeout() {}

  /** Checked here, so that a typo costs no round trip; nothing when nothing was said. */
  static Optional<String> parse(@Nullable String text) {
    return Optional.ofNullable(text)
        .map(Durations::parse)
        .map(grace -> grace.isZero() ? "0s" : Durations.print(grace).replace(" ", ""));
  }

  /** Refuses a time given for a service or deployment, whose file states it. */
  static void refuse(@Nullable String text, String target) {
    if (text != null) {
      throw new AgentException.InvalidSpec(
          "--time is for single containers; set stop_grace_period in the file of '%s'"
              .formatted(target));
    }
  }
}
