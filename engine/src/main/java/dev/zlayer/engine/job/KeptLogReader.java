package dev.zlayer.engine.job;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.port.LogReader;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** Reads output that is complete, record by record from where it is kept. */
final class KeptLogReader implements LogReader {
  private final OutputCodec.Reader records;
  private final LogQuery query;

  /** From which record on a stream is given; absent without a tail. */
  private final Map<LogRecord.Stream, Long> begin;

  private long number;

  /** {@code open} may be called twice: the last lines are found by reading all of them. */
  KeptLogReader(Supplier<InputStream> open, LogQuery query) {
    this.query = query;
    this.begin = query.tail().isPresent() ? begin(open, query) : Map.of();
    this.records = new OutputCodec.Reader(open.get());
  }

  /** A line of one of the streams: the number of its first record. */
  private record Line(LogRecord.Stream stream, long first) {}

  private static Map<LogRecord.Stream, Long> begin(Supplier<InputStream> open, LogQuery query) {
    int lines = query.tail().orElseThrow();
    var last = new ArrayDeque<Line>();
    Map<LogRecord.Stream, Line> begun = new EnumMap<>(LogRecord.Stream.class);
    try (var records = new OutputCodec.Reader(open.get())) {
      long number = 0;
      for (var next = records.next(); next.isPresent(); next = records.next()) {
        long first = number++;
        LogRecord record = next.get();
        if (query.wants(record)) {
          var line = begun.computeIfAbsent(record.stream(), stream -> new Line(stream, first));
          if (!record.partial()) {
            begun.remove(record.stream());
            add(last, line, lines);
          }
        }
      }
    }
    begun.values().forEach(line -> add(last, line, lines));
    Map<LogRecord.Stream, Long> begin = new EnumMap<>(LogRecord.Stream.class);
    for (LogRecord.Stream stream : LogRecord.Stream.values()) {
      begin.put(stream, Long.MAX_VALUE);
    }
    last.forEach(line -> begin.merge(line.stream(), line.first(), Math::min));
    return begin;
  }

  private static void add(ArrayDeque<Line> last, Line line, int lines) {
    last.add(line);
    if (last.size() > lines) {
      last.remove();
    }
  }

  @Override
  public Optional<LogRecord> next() {
    while (true) {
      Optional<LogRecord> record = records.next();
      long at = number++;
      if (record.isEmpty()
          || (query.wants(record.get()) && at >= begin.getOrDefault(record.get().stream(), 0L))) {
        return record;
      }
    }
  }

  @Override
  public Optional<LogRecord> next(Runnable waiting) {
    return next();
  }

  @Override
  public void close() {
    records.close();
  }
}
