package dev.zlayer.image.registry;

import java.time.Duration;

/**
 * How long to wait for a registry.
 *
 * @param connect until a connection stands
 * @param answer until the first line of an answer
 * @param stall how long a body may be silent
 * @param longestRetryAfter the longest wait that a registry may ask for
 */
public record Timeouts(
    Duration connect, Duration answer, Duration stall, Duration longestRetryAfter) {
  public static final Timeouts DEFAULT =
      new Timeouts(
          Duration.ofSeconds(10),
          Duration.ofSeconds(60),
          Duration.ofSeconds(30),
          Duration.ofSeconds(60));
}
