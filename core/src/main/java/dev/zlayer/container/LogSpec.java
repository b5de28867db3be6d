package dev.zlayer.container;

import java.time.Duration;
import java.util.Optional;

/**
 * How much output is kept: one current file and {@code files - 1} rotated ones of this size.
 *
 * @param retention output older than this is not shown, and its rotated files are deleted
 * @param destination where it is kept; on disk when empty, as records of earlier versions mean it
 */
public record LogSpec(
    long maxFileBytes, int files, Optional<Duration> retention, Optional<Destination> destination) {
  public static final LogSpec DEFAULT = new LogSpec(10L << 20, 3);

  /** Where output is kept other than on disk. */
  public enum Destination {
    MEMORY
  }

  public LogSpec(long maxFileBytes, int files) {
    this(maxFileBytes, files, Optional.empty(), Optional.empty());
  }

  public LogSpec withRetention(Duration longest) {
    return new LogSpec(maxFileBytes, files, Optional.of(longest), destination);
  }

  public LogSpec withMemory() {
    return new LogSpec(maxFileBytes, files, retention, Optional.of(Destination.MEMORY));
  }

  public boolean inMemory() {
    return destination.isPresent();
  }
}
