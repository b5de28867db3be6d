package dev.zlayer.runtime.docker;

import dev.zlayer.container.LogRecord;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Arrays;
import java.util.Optional;

/** Output as the engine sends it, each entry with its time in front. */
interface LogEntries {
  /** Blocks for more; empty at the end. */
  Optional<LogRecord> next() throws IOException;

  static LogEntries of(InputStream in, boolean terminal) {
    return terminal ? new Plain(in) : new Framed(in);
  }

  /** A line, or a part of one that grew too long or was not finished. */
  private static LogRecord entry(LogRecord.Stream stream, byte[] bytes) throws IOException {
    int space = 0;
    while (space < bytes.length && bytes[space] != ' ') {
      space++;
    }
    boolean whole = bytes.length > 0 && bytes[bytes.length - 1] == '\n';
    int from = Math.min(space + 1, bytes.length);
    int to = Math.max(from, whole ? bytes.length - 1 : bytes.length);
    Instant time = time(new String(bytes, 0, space, StandardCharsets.ISO_8859_1));
    return new LogRecord(time, stream, Arrays.copyOfRange(bytes, from, to), !whole);
  }

  private static Instant time(String text) throws IOException {
    try {
      return Instant.parse(text.strip());
    } catch (DateTimeParseException e) {
      throw new IOException("the engine sent output without a time", e);
    }
  }

  /** One entry per frame: a stream number, three zeros, the length, the bytes. */
  final class Framed implements LogEntries {
    private static final int MAX_FRAME = 16 << 20;
    private final DataInputStream in;

    Framed(InputStream in) {
      this.in = new DataInputStream(new BufferedInputStream(in));
    }

    @Override
    public Optional<LogRecord> next() throws IOException {
      int stream = in.read();
      if (stream < 0) {
        return Optional.empty();
      }
      if (in.skipBytes(3) != 3) {
        throw new EOFException("the engine broke off inside a frame");
      }
      int length = in.readInt();
      if (length < 0 || length > MAX_FRAME) {
        throw new IOException("the engine sent a frame of " + length + " bytes");
      }
      byte[] bytes = new byte[length];
      in.readFully(bytes);
      return Optional.of(
          entry(stream == 2 ? LogRecord.Stream.STDERR : LogRecord.Stream.STDOUT, bytes));
    }
  }

  /** The output of a terminal has no frames; an entry ends with its line or is of a known size. */
  final class Plain implements LogEntries {
    private static final int LONGEST_PART = 16 << 10;
    private final InputStream in;

    Plain(InputStream in) {
      this.in = new BufferedInputStream(in);
    }

    @Override
    public Optional<LogRecord> next() throws IOException {
      var entry = new ByteArrayOutputStream();
      int timeEnd = -1;
      while (timeEnd < 0 || entry.size() - timeEnd < LONGEST_PART) {
        int b = in.read();
        if (b < 0) {
          break;
        }
        entry.write(b);
        if (b == ' ' && timeEnd < 0) {
          timeEnd = entry.size();
        }
        if (b == '\n') {
          break;
        }
      }
      return entry.size() == 0
          ? Optional.empty()
          : Optional.of(entry(LogRecord.Stream.STDOUT, entry.toByteArray()));
    }
  }
}
