package dev.zlayer.runtime.wsl;

import java.time.Duration;

/**
 * How containers are run in a distribution.
 *
 * @param toolLimit bounds every single command there but the unpacking of a layer
 * @param killLimit how long to wait for death after SIGKILL
 * @param look how often files are looked at whose changes nobody tells
 */
public record WslSettings(Duration toolLimit, Duration killLimit, Duration look) {
  public static final WslSettings DEFAULT =
      new WslSettings(Duration.ofSeconds(60), Duration.ofSeconds(20), Duration.ofMillis(100));
}
