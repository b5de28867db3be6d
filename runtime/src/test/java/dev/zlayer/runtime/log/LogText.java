package dev.zlayer.runtime.log;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Writes text as conmon does. */
final class LogText {
  static final Instant BEGIN = Instant.parse("2024-01-01T00:00:00Z");
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSSSSS'+00:00'", Locale.ROOT)
          .withZone(ZoneOffset.UTC);

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  static Instant second(long second) {
    return BEGIN.plusSeconds(second);
  }

  LogText out(long second, String text) {
    return line(second, "stdout F ", text);
  }

  LogText err(long second, String text) {
    return line(second, "stderr F ", text);
  }

  LogText outPiece(long second, String text) {
    return line(second, "stdout P ", text);
  }

  LogText errPiece(long second, String text) {
    return line(second, "stderr P ", text);
  }

  LogText raw(String text) {
    bytes.writeBytes(text.getBytes(StandardCharsets.ISO_8859_1));
    return this;
  }

  byte[] bytes() {
    return bytes.toByteArray();
  }

  private LogText line(long second, String head, String text) {
    return raw(TIME.format(second(second)) + " " + head + text + "\n");
  }
}
