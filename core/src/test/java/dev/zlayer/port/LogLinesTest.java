package dev.zlayer.port;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogRecord;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LogLinesTest {
  private static final byte[] PIECE = "x".repeat(8192).getBytes(StandardCharsets.US_ASCII);
  private static final byte[] END = "end".getBytes(StandardCharsets.US_ASCII);

  /** As a container that prints without an end of a line; more than there is memory. */
  @Test
  void ofALineWithoutEndTheLastPartIsGiven() throws InterruptedException {
    var pieces = new Pieces(200_000);
    List<String> lines = LogLines.read(pieces);

    assertThat(pieces.left).isNegative();
    assertThat(lines.stream().mapToLong(String::length).sum()).isBetween(150_000L, 262_144L);
    assertThat(lines.getLast()).endsWith("end");
  }

  private static final class Pieces implements LogReader {
    private int left;

    Pieces(int left) {
      this.left = left;
    }

    @Override
    public Optional<LogRecord> next() {
      left--;
      return left < 0
          ? Optional.empty()
          : Optional.of(
              new LogRecord(
                  Instant.EPOCH, LogRecord.Stream.STDOUT, left == 0 ? END : PIECE, left > 0));
    }

    @Override
    public void close() {}
  }
}
