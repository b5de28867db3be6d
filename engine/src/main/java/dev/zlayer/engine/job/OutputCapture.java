package dev.zlayer.engine.job;

import dev.zlayer.container.LogRecord;
import dev.zlayer.port.LogReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Keeps the first and the last half of a limited number of bytes of output, whatever its length,
 * with a mark where something was left out. Reads the output twice, so that it need not be held:
 * once for its size, and once to write what is kept of it.
 */
final class OutputCapture {
  private final long limit;
  private final long half;
  private final long total;
  private final long records;
  private long kept;

  /** Reads all of it, without keeping anything yet. */
  OutputCapture(long limit, LogReader reader) throws InterruptedException {
    this.limit = limit;
    this.half = Math.max(1, limit / 2);
    long bytes = 0;
    long size = 1;
    for (var record = reader.next(); record.isPresent(); record = reader.next()) {
      bytes += record.get().length();
      size += OutputCodec.size(record.get());
      if (reader.gap()) {
        size += OutputCodec.size(gap(record.get()));
      }
    }
    this.total = bytes;
    this.records = size;
  }

  /** How many bytes {@link #write} may write; 0 when there is no output. */
  long size() {
    return total == 0 ? 0 : records;
  }

  /** Reads it again from its beginning. */
  void write(LogReader reader, OutputCodec.Writer out) throws IOException, InterruptedException {
    long at = 0;
    boolean marked = false;
    kept = 0;
    for (var next = reader.next(); next.isPresent(); next = reader.next()) {
      LogRecord record = next.get();
      long end = at + record.length();
      if (total > limit && end > half) {
        boolean tooLong = record.length() > half && end > total - half;
        if (total - at > half && !tooLong) {
          at = end;
          continue;
        }
        if (total - at > half) {
          record = cut(record, (int) (total - half - at));
        }
        if (!marked) {
          marked = true;
          out.write(mark(record, total - kept - Math.min(half, total - at)));
        }
      }
      if (reader.gap()) {
        out.write(gap(record));
      }
      out.write(record);
      kept += record.length();
      at = end;
    }
  }

  Attempt.Output output() {
    return new Attempt.Output(kept, total);
  }

  /** Where rotation dropped output before it could be kept. */
  private static LogRecord gap(LogRecord next) {
    byte[] mark = "[... output dropped by log rotation ...]".getBytes(StandardCharsets.UTF_8);
    return new LogRecord(next.time(), LogRecord.Stream.STDERR, mark, false);
  }

  private static LogRecord mark(LogRecord next, long missing) {
    byte[] mark = "[... %d bytes left out ...]".formatted(missing).getBytes(StandardCharsets.UTF_8);
    return new LogRecord(next.time(), LogRecord.Stream.STDERR, mark, false);
  }

  /** The end of a line that alone is too long. */
  private static LogRecord cut(LogRecord record, int from) {
    byte[] end = Arrays.copyOfRange(record.bytes(), from, record.bytes().length);
    return new LogRecord(record.time(), record.stream(), end, record.partial());
  }
}
