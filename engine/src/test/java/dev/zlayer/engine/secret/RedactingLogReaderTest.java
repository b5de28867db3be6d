package dev.zlayer.engine.secret;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogRecord;
import dev.zlayer.port.LogReader;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RedactingLogReaderTest {
  private static LogRecord piece(int second, String text, boolean partial) {
    return new LogRecord(
        Instant.ofEpochSecond(second),
        LogRecord.Stream.STDOUT,
        text.getBytes(StandardCharsets.ISO_8859_1),
        partial);
  }

  private static List<LogRecord> read(List<LogRecord> records, String... secrets)
      throws InterruptedException {
    Iterator<LogRecord> left = records.iterator();
    var source =
        new LogReader() {
          @Override
          public Optional<LogRecord> next() {
            return left.hasNext() ? Optional.of(left.next()) : Optional.empty();
          }

          @Override
          public void close() {}
        };
    var result = new ArrayList<LogRecord>();
    Redaction redaction = Redaction.NOTHING.with(List.of(secrets));
    try (var reader = new RedactingLogReader(source, () -> redaction)) {
      for (var next = reader.next(); next.isPresent(); next = reader.next()) {
        result.add(next.get());
      }
    }
    return result;
  }

  private static String output(List<LogRecord> records) {
    var text = new StringBuilder();
    for (LogRecord record : records) {
      text.append(new String(record.bytes(), StandardCharsets.ISO_8859_1));
      text.append(record.partial() ? "" : "\n");
    }
    return text.toString();
  }

  @Test
  void aValueThatIsWrittenInPiecesIsHidden() throws Exception {
    var records =
        read(
            List.of(piece(1, "key=pass", true), piece(2, "word", true), piece(3, "!", false)),
            "password");
    assertThat(output(records)).isEqualTo("key=[secret]!\n");
    assertThat(records).hasSize(3);
  }

  @Test
  void theBeginningOfAValueIsGivenWhenNothingMoreComes() throws Exception {
    assertThat(output(read(List.of(piece(1, "key=pass", true)), "password"))).isEqualTo("key=pass");
  }

  @Test
  void bytesThatAreNoTextStayAsTheyAre() throws Exception {
    assertThat(output(read(List.of(piece(1, "\u00ff\0password\u00c3\r", true)), "password")))
        .isEqualTo("\u00ff\0[secret]\u00c3\r");
  }

  /** However output is cut into pieces, it reads as if it had been one. */
  @Test
  void piecesMakeNoDifference() throws Exception {
    var random = new Random(3);
    for (int round = 0; round < 5000; round++) {
      var text = new StringBuilder();
      for (int i = random.nextInt(30); i > 0; i--) {
        text.append("ab".charAt(random.nextInt(2)));
      }
      String[] secrets = {"abab", "ababaa", "bbab"};
      String whole = output(read(List.of(piece(1, text.toString(), true)), secrets));
      var pieces = new ArrayList<LogRecord>();
      for (int at = 0; at < text.length(); ) {
        int end = Math.min(text.length(), at + 1 + random.nextInt(4));
        pieces.add(piece(at, text.substring(at, end), true));
        at = end;
      }
      String joined = output(read(pieces, secrets));
      for (String secret : secrets) {
        assertThat(joined.replace("[secret]", "|"))
            .as("round %d: %s", round, text)
            .doesNotContain(secret);
      }
      assertThat(joined.contains("["))
          .as("round %d: %s", round, text)
          .isEqualTo(whole.contains("["));
    }
  }
}
