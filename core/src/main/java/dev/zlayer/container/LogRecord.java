package dev.zlayer.container;

import java.nio.charset.StandardCharsets;
import java.time.Instant;

/**
 * One line of output: when it was written, where, and its bytes without the line end.
 *
 * @param partial the process ended (or the line grew too long) before a line end came
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

  @Override
  public String toString() {
    return time + " " + stream + " " + text();
  }
}
