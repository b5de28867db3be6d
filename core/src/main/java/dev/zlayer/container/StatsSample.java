package dev.zlayer.container;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A reading and the one before it, which together tell a rate.
 *
 * @param before empty for the first reading of a container
 */
public record StatsSample(Stats now, Optional<Stats> before) {
  /** Share of one processor in percent, 200 for two busy ones; empty when nothing tells it. */
  public OptionalDouble cpuPercent() {
    if (before.isEmpty()) {
      return OptionalDouble.empty();
    }
    long passed = Duration.between(before.get().time(), now.time()).toNanos();
    long used = Math.max(0, now.cpuNanos() - before.get().cpuNanos());
    return passed <= 0 ? OptionalDouble.empty() : OptionalDouble.of(100.0 * used / passed);
  }
}
