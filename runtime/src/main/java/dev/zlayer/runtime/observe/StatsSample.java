package dev.zlayer.runtime.observe;

import dev.zlayer.container.Stats;
import java.time.Duration;
import java.util.Optional;

/**
 * A reading and the one before it, which together tell a rate.
 *
 * @param before empty for the first reading of a container
 */
public record StatsSample(Stats now, Optional<Stats> before) {
  /** Share of one processor in percent, 200 for two busy ones; 0 when nothing is known before. */
  public double cpuPercent() {
    return before
        .map(
            earlier -> {
              long passed = Duration.between(earlier.time(), now.time()).toNanos();
              long used = Math.max(0, now.cpuNanos() - earlier.cpuNanos());
              return passed <= 0 ? 0.0 : 100.0 * used / passed;
            })
        .orElse(0.0);
  }
}
