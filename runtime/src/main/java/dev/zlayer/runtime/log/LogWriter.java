package dev.zlayer.runtime.log;

import dev.zlayer.container.LogRecord;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/**
 * Writes output as conmon does, for containers whose output passes through the agent itself. What
 * is written is in the file when the call returns. Safe for several threads.
 *
 * <p>Plain streams, not channels: a thread that is interrupted while it writes must not close the
 * file.
 */
public final class LogWriter implements AutoCloseable {
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS'+00:00'", Locale.ROOT)
          .withZone(ZoneOffset.UTC);

  /** A longer line is written in pieces, as readers expect it. */
  private static final int PIECE = 8 << 10;

  private final LogFiles files;
  private final InstantSource clock;
  private OutputStream out;
  private long size;

  private LogWriter(LogFiles files, InstantSource clock, OutputStream out, long size) {
    this.files = files;
    this.clock = clock;
    this.out = out;
    this.size = size;
  }

  /** Makes the files ready and goes on behind what is there; one writer at a time. */
  public static LogWriter open(LogFiles files, InstantSource clock) throws IOException {
    files.prepare();
    File current = files.current().toFile();
    return new LogWriter(files, clock, new FileOutputStream(current, true), current.length());
  }

  /** A stream whose bytes become lines of output; closing it does nothing. */
  public OutputStream stream(LogRecord.Stream stream) {
    return new OutputStream() {
      @Override
      public void write(int one) throws IOException {
        LogWriter.this.write(stream, new byte[] {(byte) one}, 0, 1);
      }

      @Override
      public void write(byte[] bytes, int from, int length) throws IOException {
        LogWriter.this.write(stream, bytes, from, length);
      }
    };
  }

  private synchronized void write(LogRecord.Stream stream, byte[] bytes, int from, int length)
      throws IOException {
    byte[] head =
        (TIME.format(clock.instant())
                + (stream == LogRecord.Stream.STDOUT ? " stdout " : " stderr "))
            .getBytes(StandardCharsets.US_ASCII);
    var lines = new ByteArrayOutputStream(length + 2 * head.length);
    int at = from;
    int end = from + length;
    while (at < end) {
      int stop = at;
      while (stop < end && bytes[stop] != '\n' && stop - at < PIECE) {
        stop++;
      }
      boolean full = stop < end && bytes[stop] == '\n';
      long line = head.length + 3L + stop - at;
      if (size + lines.size() + line > files.maxFileBytes() && size + lines.size() > 0) {
        flush(lines);
        rotate();
      }
      lines.writeBytes(head);
      lines.write(full ? 'F' : 'P');
      lines.write(' ');
      lines.write(bytes, at, stop - at);
      lines.write('\n');
      at = full ? stop + 1 : stop;
    }
    flush(lines);
  }

  private void flush(ByteArrayOutputStream lines) throws IOException {
    lines.writeTo(out);
    size += lines.size();
    lines.reset();
  }

  private void rotate() throws IOException {
    out.close();
    files.rotate();
    out = new FileOutputStream(files.current().toFile(), true);
    size = 0;
  }

  @Override
  public synchronized void close() throws IOException {
    out.close();
  }
}
