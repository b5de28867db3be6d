package dev.zlayer.port;

import dev.zlayer.container.LogRecord;
import java.util.Optional;

/** Reads output record by record. Used by one thread; closing it from another ends a wait. */
public interface LogReader extends AutoCloseable {
  /** The next record; blocks when following; empty at the end. */
  Optional<LogRecord> next() throws InterruptedException;

  @Override
  void close();
}
