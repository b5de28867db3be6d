package dev.zlayer.engine.secret;

import dev.zlayer.container.LogRecord;
import dev.zlayer.port.LogReader;
import java.time.Instant;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Replaces the values of secrets in output, also those that were written in several pieces: the end
 * of a piece that may be the beginning of a value waits for the next piece. There is one record for
 * each of the source, so that a reader who counts them can continue, and at most one more per
 * stream at the end.
 */
public final class RedactingLogReader implements LogReader {
  private static final byte[] NOTHING = {};

  private final LogReader source;
  private final Supplier<Redaction> redaction;
  private final Map<LogRecord.Stream, byte[]> held = new EnumMap<>(LogRecord.Stream.class);
  private Instant last = Instant.EPOCH;

  /** {@code redaction} is asked for each record: a secret may be set meanwhile. */
  public RedactingLogReader(LogReader source, Supplier<Redaction> redaction) {
    this.source = source;
    this.redaction = redaction;
  }

  @Override
  public Optional<LogRecord> next() throws InterruptedException {
    return redacted(source.next());
  }

  @Override
  public Optional<LogRecord> next(Runnable waiting) throws InterruptedException {
    return redacted(source.next(waiting));
  }

  private Optional<LogRecord> redacted(Optional<LogRecord> record) {
    if (record.isPresent()) {
      last = record.get().time();
      return Optional.of(redacted(record.get()));
    }
    return held.keySet().stream()
        .findFirst()
        .map(stream -> new LogRecord(last, stream, rest(stream), true));
  }

  private byte[] rest(LogRecord.Stream stream) {
    byte[] bytes = held.getOrDefault(stream, NOTHING);
    held.remove(stream);
    return redaction.get().bytes(bytes);
  }

  private LogRecord redacted(LogRecord record) {
    Redaction now = redaction.get();
    byte[] before = held.getOrDefault(record.stream(), NOTHING);
    if (now.isEmpty() && before.length == 0) {
      return record;
    }
    held.remove(record.stream());
    byte[] all = before.length == 0 ? record.bytes() : joined(before, record.bytes());
    int settled = record.partial() ? now.settled(all) : all.length;
    if (settled < all.length) {
      held.put(record.stream(), Arrays.copyOfRange(all, settled, all.length));
      all = Arrays.copyOf(all, settled);
    }
    return new LogRecord(record.time(), record.stream(), now.bytes(all), record.partial());
  }

  private static byte[] joined(byte[] first, byte[] second) {
    byte[] all = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, all, first.length, second.length);
    return all;
  }

  @Override
  public boolean gap() {
    return source.gap();
  }

  @Override
  public boolean incomplete() {
    return source.incomplete();
  }

  @Override
  public void close() {
    source.close();
  }
}
