package dev.zlayer.port;

import dev.zlayer.container.LogRecord;
import java.util.Optional;

/** Reads output record by record. Used by one thread; closing it from another ends a wait. */
public interface LogReader extends AutoCloseable {
  /** The next record; blocks when following; empty at the end. */
  Optional<LogRecord> next() throws InterruptedException;

  /**
   * Like {@link #next()} for those who pass records on and flush before they wait.
   *
   * @param waiting called when the record is not there yet; perhaps also when it is
   */
  default Optional<LogRecord> next(Runnable waiting) throws InterruptedException {
    waiting.run();
    return next();
  }

  /**
   * Whether output right before the record that was given last is missing, or may be: rotation
   * dropped it.
   */
  default boolean gap() {
    return false;
  }

  /** Whether output is known to be missing before or between records that are there by now. */
  default boolean incomplete() {
    return false;
  }

  @Override
  void close();
}
