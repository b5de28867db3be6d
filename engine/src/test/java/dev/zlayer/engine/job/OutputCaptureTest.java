package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class OutputCaptureTest {
  private static final Instant TIME = Instant.parse("2026-05-05T05:05:05.123456789Z");

  private static LogRecord line(String text) {
    return new LogRecord(
        TIME, LogRecord.Stream.STDOUT, text.getBytes(StandardCharsets.UTF_8), false);
  }

  private static List<String> texts(OutputCapture capture) {
    return capture.lines().stream().map(LogRecord::text).toList();
  }

  @Test
  void keepsAllThatFits() {
    var capture = new OutputCapture(20);
    capture.add(line("0123456"));
    capture.add(line("abcdefg"));

    assertThat(texts(capture)).containsExactly("0123456", "abcdefg");
    assertThat(capture.output().truncated()).isFalse();
  }

  @Test
  void keepsHeadAndTailWithAMarkBetween() {
    var capture = new OutputCapture(20);
    IntStream.range(0, 100).forEach(i -> capture.add(line("line%02d".formatted(i))));

    assertThat(texts(capture)).containsExactly("line00", "[... 686 bytes left out ...]", "line99");
    assertThat(capture.output()).isEqualTo(new Attempt.Output(14, 700));
  }

  @Test
  void cutsALineThatAloneIsTooLong() {
    var capture = new OutputCapture(20);
    capture.add(line("x".repeat(1000) + "end"));

    assertThat(texts(capture)).containsExactly("[... 994 bytes left out ...]", "xxxxxxend");
  }

  @Test
  void neverKeepsMoreThanTheLimit() {
    var random = new Random(7);
    for (int round = 0; round < 200; round++) {
      int limit = 2 + random.nextInt(500);
      var capture = new OutputCapture(limit);
      long total = 0;
      for (int i = 0; i < random.nextInt(60); i++) {
        String text = "y".repeat(random.nextInt(80));
        capture.add(line(text));
        total += text.length() + 1;
      }
      assertThat(capture.output().kept()).isLessThanOrEqualTo(limit);
      assertThat(capture.output().total()).isEqualTo(total);
      if (total <= limit / 2) {
        assertThat(capture.output().truncated()).isFalse();
      }
    }
  }

  @Test
  void storedLinesAreReadBackAsTheyWere() {
    List<LogRecord> lines =
        List.of(
            line("a"),
            line(""),
            new LogRecord(TIME, LogRecord.Stream.STDERR, new byte[] {(byte) 0xff, 0, 10}, true));

    List<LogRecord> back = OutputCodec.read(OutputCodec.write(lines));

    assertThat(back).usingRecursiveComparison().isEqualTo(lines);
    var reader = new KeptLogReader(back, LogQuery.ALL.withTail(1));
    assertThat(reader.next().orElseThrow().stream()).isEqualTo(LogRecord.Stream.STDERR);
    assertThat(reader.next()).isEmpty();
  }
}
