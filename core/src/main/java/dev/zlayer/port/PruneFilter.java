package dev.zlayer.port;

import java.time.Duration;
import java.util.Optional;

/**
 * Which unused images go.
 *
 * @param all also those that a reference points to; else only dangling ones
 * @param olderThan only those last pulled or used before that long ago
 */
public record PruneFilter(boolean all, Optional<Duration> olderThan) {
  public static final PruneFilter DANGLING = new PruneFilter(false, Optional.empty());
}
