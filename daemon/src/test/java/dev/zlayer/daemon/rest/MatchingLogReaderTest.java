package dev.zlayer.daemon.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.LogRecord.Stream;
import dev.zlayer.port.LogReader;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.Random;
import org.junit.jupiter.api.Test;

class MatchingLogReaderTest {
  private static final LogQuery.Containing FISH = new LogQuery.Containing("fish", false);

  /** What is there. */
  private static final class Records implements LogReader {
    private final Queue<LogRecord> records;

    Records(List<LogRecord> records) {
      this.records = new ArrayDeque<>(records);
    }

    @Override
    public Optional<LogRecord> next() {
      return Optional.ofNullable(records.poll());
    }

    @Override
    public void close() {}
  }

  private static LogRecord out(String text) {
    return record(Stream.STDOUT, text, false);
  }

  private static LogRecord record(Stream stream, String text, boolean partial) {
    return new LogRecord(Instant.EPOCH, stream, text.getBytes(StandardCharsets.UTF_8), partial);
  }

  private static List<String> found(
      LogQuery.Containing text, OptionalInt tail, List<LogRecord> records)
      throws InterruptedException {
    var found = new ArrayList<String>();
    try (var reader = new MatchingLogReader(new Records(records), text, tail)) {
      for (var record = reader.next(); record.isPresent(); record = reader.next()) {
        found.add(record.get().text() + (record.get().partial() ? "~" : ""));
      }
    }
    return found;
  }

  @Test
  void givesLinesWithTheTextWithAllTheirPieces() throws InterruptedException {
    List<LogRecord> records =
        List.of(
            out("a fish"),
            out("a bird"),
            record(Stream.STDOUT, "one fi", true),
            record(Stream.STDERR, "fish first", false),
            record(Stream.STDOUT, "sh", true),
            out(" more"),
            record(Stream.STDOUT, "last fish", true));

    assertThat(found(FISH, OptionalInt.empty(), records))
        .containsExactly("a fish", "fish first", "one fi~", "sh~", " more", "last fish~");
    assertThat(found(FISH, OptionalInt.of(2), records))
        .containsExactly("one fi~", "sh~", " more", "last fish~");
    assertThat(found(FISH, OptionalInt.of(0), records)).isEmpty();
  }

  @Test
  void ignoresCaseAlsoBeyondAscii() throws InterruptedException {
    List<LogRecord> records = List.of(out("ÄRGER"), out("ärger"), out("arger"));

    assertThat(found(new LogQuery.Containing("Ärger", true), OptionalInt.empty(), records))
        .containsExactly("ÄRGER", "ärger");
    assertThat(found(new LogQuery.Containing("ärger", false), OptionalInt.empty(), records))
        .containsExactly("ärger");
  }

  @Test
  void findsWhatContainsFinds() throws InterruptedException {
    var random = new Random(5);
    for (int round = 0; round < 2000; round++) {
      String text = letters(random, 1 + random.nextInt(5));
      var records = new ArrayList<LogRecord>();
      var expected = new ArrayList<String>();
      for (int line = 0; line < 10; line++) {
        String letters = letters(random, random.nextInt(30));
        records.add(out(letters));
        if (letters.contains(text)) {
          expected.add(letters);
        }
      }
      assertThat(found(new LogQuery.Containing(text, false), OptionalInt.empty(), records))
          .as(text)
          .isEqualTo(expected);
    }
  }

  private static String letters(Random random, int length) {
    var text = new StringBuilder();
    for (int index = 0; index < length; index++) {
      text.append((char) ('a' + random.nextInt(3)));
    }
    return text.toString();
  }

  /** The index knows what the container wrote, callers see a mark in place of secrets. */
  @Test
  void onlyWhatTheContainerWroteIsLookedForInTheIndex() {
    assertThat(written("password=[secret] for joe")).isEqualTo("password=");
    assertThat(written("[secret]")).isEmpty();
    assertThat(written("ecret]ab")).isEqualTo("ab");
    assertThat(written("SECRET")).isEmpty();
    assertThat(written("no secrets")).isEqualTo("no secrets");
  }

  private static String written(String text) {
    return LogResponse.written(new LogQuery.Containing(text, true));
  }
}
