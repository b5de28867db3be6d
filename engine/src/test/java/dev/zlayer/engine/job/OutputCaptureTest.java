package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.port.LogReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class OutputCaptureTest {
  private static final Instant TIME = Instant.parse("2026-05-05T05:05:05.123456789Z");

  private static LogRecord line(String text) {
    return new LogRecord(
        TIME, LogRecord.Stream.STDOUT, text.getBytes(StandardCharsets.UTF_8), false);
  }

  /** A log that can be read again and again. */
  private static LogReader reader(List<LogRecord> records) {
    Iterator<LogRecord> left = records.iterator();
    return new LogReader() {
      @Override
      public Optional<LogRecord> next() {
        return left.hasNext() ? Optional.of(left.next()) : Optional.empty();
      }

      @Override
      public void close() {}
    };
  }

  /** What is kept of a log. */
  private record Kept(List<LogRecord> records, Attempt.Output output, byte[] bytes) {
    List<String> texts() {
      return records.stream().map(LogRecord::text).toList();
    }
  }

  private static Kept keep(long limit, List<LogRecord> records) throws Exception {
    var capture = new OutputCapture(limit, reader(records));
    var bytes = new ByteArrayOutputStream();
    try (var out = new OutputCodec.Writer(bytes)) {
      capture.write(reader(records), out);
    }
    List<LogRecord> kept = read(bytes.toByteArray(), LogQuery.ALL);
    return new Kept(kept, capture.output(), bytes.toByteArray());
  }

  private static List<LogRecord> read(byte[] bytes, LogQuery query) {
    var records = new ArrayList<LogRecord>();
    try (var reader = new KeptLogReader(() -> new ByteArrayInputStream(bytes), query)) {
      for (var next = reader.next(); next.isPresent(); next = reader.next()) {
        records.add(next.get());
      }
    }
    return records;
  }

  @Test
  void keepsAllThatFits() throws Exception {
    Kept kept = keep(20, List.of(line("0123456"), line("abcdefg")));

    assertThat(kept.texts()).containsExactly("0123456", "abcdefg");
    assertThat(kept.output().truncated()).isFalse();
  }

  @Test
  void keepsHeadAndTailWithAMarkBetween() throws Exception {
    Kept kept =
        keep(20, IntStream.range(0, 100).mapToObj(i -> line("line%02d".formatted(i))).toList());

    assertThat(kept.texts()).containsExactly("line00", "[... 686 bytes left out ...]", "line99");
    assertThat(kept.output()).isEqualTo(new Attempt.Output(14, 700));
  }

  @Test
  void cutsALineThatAloneIsTooLong() throws Exception {
    Kept kept = keep(20, List.of(line("x".repeat(1000) + "end")));

    assertThat(kept.texts()).containsExactly("[... 994 bytes left out ...]", "xxxxxxend");
  }

  /** What is kept and what the mark says was left out are together what there was. */
  @Test
  void neverKeepsMoreThanTheLimitAndSaysExactlyWhatIsMissing() throws Exception {
    var random = new Random(7);
    for (int round = 0; round < 2000; round++) {
      int limit = 2 + random.nextInt(500);
      var records = new ArrayList<LogRecord>();
      long total = 0;
      for (int i = random.nextInt(60); i > 0; i--) {
        boolean partial = random.nextInt(3) == 0;
        byte[] bytes = "y".repeat(random.nextInt(80)).getBytes(StandardCharsets.UTF_8);
        var stream = LogRecord.Stream.values()[random.nextInt(2)];
        records.add(new LogRecord(TIME, stream, bytes, partial));
        total += records.getLast().length();
      }
      Kept kept = keep(limit, records);
      assertThat(kept.output().kept()).as("round %d", round).isLessThanOrEqualTo(limit);
      assertThat(kept.output().total()).isEqualTo(total);
      long marked =
          kept.texts().stream()
              .filter(text -> text.startsWith("[..."))
              .mapToLong(text -> Long.parseLong(text.split(" ", 3)[1]))
              .sum();
      assertThat(kept.output().kept() + marked).as("round %d", round).isEqualTo(total);
      if (total <= limit) {
        assertThat(kept.records()).usingRecursiveComparison().isEqualTo(records);
      }
    }
  }

  @Test
  void storedRecordsAreReadBackAsTheyWere() throws Exception {
    List<LogRecord> records =
        List.of(
            line("a"),
            line(""),
            new LogRecord(
                Instant.ofEpochSecond(-5, 7),
                LogRecord.Stream.STDERR,
                new byte[] {(byte) 0xff, 0, 10},
                true));

    Kept kept = keep(1000, records);

    assertThat(kept.records()).usingRecursiveComparison().isEqualTo(records);
    assertThat(read(new byte[0], LogQuery.ALL)).isEmpty();
  }

  @Test
  void theTailIsCountedInLines() throws Exception {
    var e1 = new LogRecord(TIME, LogRecord.Stream.STDERR, new byte[] {'1'}, true);
    var e2 = new LogRecord(TIME, LogRecord.Stream.STDERR, new byte[] {'2'}, true);
    byte[] bytes = keep(1000, List.of(line("a"), e1, line("b"), e2, line("c"))).bytes();

    assertThat(read(bytes, LogQuery.ALL.withTail(0))).isEmpty();
    assertThat(read(bytes, LogQuery.ALL.withTail(1)).stream().map(LogRecord::text))
        .containsExactly("1", "2");
    assertThat(read(bytes, LogQuery.ALL.withTail(2)).stream().map(LogRecord::text))
        .containsExactly("1", "2", "c");
    assertThat(read(bytes, LogQuery.ALL.withTail(9))).hasSize(5);
  }

  @Test
  void outputThatIsCutOffIsReportedAsDamaged() throws Exception {
    byte[] bytes = keep(1000, List.of(line("abc"))).bytes();
    assertThatThrownBy(() -> read(Arrays.copyOf(bytes, bytes.length - 1), LogQuery.ALL))
        .hasMessageContaining("damaged");
  }
}
