package dev.zlayer.runtime.log;

import dev.zlayer.container.LogRecord;
import java.io.ByteArrayOutputStream;
import java.time.Instant;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Puts the pieces of long lines together again, each stream for itself. A record carries the time
 * of its last piece, so records come in the order of their times and a reader that begins anew with
 * the time of the last record it saw misses nothing.
 */
final class LineJoiner {
  /** A line that grows over this is handed out in parts. */
  static final int LIMIT = 1 << 20;

  private static final class Pieces {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Instant time = Instant.EPOCH;
  }

  private final Map<LogRecord.Stream, Pieces> pending = new EnumMap<>(LogRecord.Stream.class);

  /** Takes a line of the file; gives a record when one is complete. */
  @Nullable LogRecord add(LineHeader header, byte[] buffer, int end) {
    Pieces pieces = pending.get(header.stream());
    boolean first = pieces == null || pieces.bytes.size() == 0;
    if (first && header.full()) {
      byte[] bytes = Arrays.copyOfRange(buffer, header.text(), end);
      return new LogRecord(header.time(), header.stream(), bytes, false);
    }
    if (pieces == null) {
      pieces = new Pieces();
      pending.put(header.stream(), pieces);
    }
    pieces.bytes.write(buffer, header.text(), end - header.text());
    pieces.time = header.time();
    if (!header.full() && pieces.bytes.size() < LIMIT) {
      return null;
    }
    return take(header.stream(), pieces, !header.full());
  }

  /** What was begun and will not be ended; one stream per call. */
  Optional<LogRecord> flush() {
    return pending.entrySet().stream()
        .filter(entry -> entry.getValue().bytes.size() > 0)
        .findFirst()
        .map(entry -> take(entry.getKey(), entry.getValue(), true));
  }

  private static LogRecord take(LogRecord.Stream stream, Pieces pieces, boolean partial) {
    var record = new LogRecord(pieces.time, stream, pieces.bytes.toByteArray(), partial);
    pieces.bytes.reset();
    return record;
  }
}
