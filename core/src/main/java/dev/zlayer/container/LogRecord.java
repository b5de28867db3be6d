package dev.zlayer.container;

import java.nio.charset.StandardCharsets;
import java.time.Instant;

/**
 * A line of output or a part of one: when it was written, where, and its bytes without the line
 * end. All records of a stream in a row, with a line end behind each that is not partial, are the
 * bytes that were written to it.
 *
 * @param partial no line end follows: the line continues in the next record of the same stream, or
 *     the output ended here
 */
@SuppressWarnings(
    "ArrayRecordComponent") // output is bytes; nobody compares records, and a copy per line is dear
public record LogRecord(Instant time, Stream stream, byte[] bytes, boolean partial) {
  public enum Stream {
    STDOUT,
    STDERR
  }

  /** As UTF-8; malformed bytes become replacement characters. */
  public String text() {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** How many bytes were written, the line end included. */
  public int length() {
    return bytes.length + (partial ? 0 : 1);
  }

  @Override
  public String toString() {
    return time + " " + stream + " " + text();
  }
}
