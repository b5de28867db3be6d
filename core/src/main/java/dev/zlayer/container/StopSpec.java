package dev.zlayer.container;

import java.time.Duration;
import java.util.Optional;

/**
 * How to end it.
 *
 * @param signal absent means the image's own stop signal, else SIGTERM
 * @param grace time between that signal and SIGKILL
 */
public record StopSpec(Optional<Signal> signal, Duration grace) {
  public static final StopSpec DEFAULT = new StopSpec(Optional.empty(), Duration.ofSeconds(10));
}
