package dev.zlayer.container;

import java.time.Duration;
import java.util.Optional;

/**
 * How much output is kept: one current file and {@code files - 1} rotated ones of this size.
 *
 * @param retention output older than this is not shown, and its rotated files are deleted
 */
public record LogSpec(long maxFileBytes, int files, Optional<Duration> retention) {
  public static final LogSpec DEFAULT = new LogSpec(10L << 20, 3);

  public LogSpec(long maxFileBytes, int files) {
    this(maxFileBytes, files, Optional.empty());
  }
}
