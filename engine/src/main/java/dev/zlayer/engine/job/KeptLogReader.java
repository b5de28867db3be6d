package dev.zlayer.engine.job;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.port.LogReader;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;

/** Reads output that is complete. */
final class KeptLogReader implements LogReader {
  private final Iterator<LogRecord> lines;

  KeptLogReader(List<LogRecord> all, LogQuery query) {
    List<LogRecord> wanted = all.stream().filter(query::wants).toList();
    int from = Math.max(0, wanted.size() - query.tail().orElse(Integer.MAX_VALUE));
    this.lines = wanted.subList(from, wanted.size()).iterator();
  }

  @Override
  public Optional<LogRecord> next() {
    return lines.hasNext() ? Optional.of(lines.next()) : Optional.empty();
  }

  @Override
  public Optional<LogRecord> next(Runnable waiting) {
    return next();
  }

  @Override
  public void close() {}
}
