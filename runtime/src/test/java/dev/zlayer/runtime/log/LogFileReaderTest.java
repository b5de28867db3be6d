package dev.zlayer.runtime.log;

import static dev.zlayer.runtime.log.LogText.second;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.LogSpec;
import dev.zlayer.host.file.DirectoryWatchLoop;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.StandardWatchEventKinds;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogFileReaderTest {
  @TempDir Path directory;
  private LogFiles files;
  private DirectoryWatchLoop watch;

  @BeforeEach
  void prepare() throws Exception {
    files = new LogFiles(directory, new LogSpec(1 << 20, 3));
    files.prepare();
    watch =
        DirectoryWatchLoop.open("test", directory, List.of(StandardWatchEventKinds.ENTRY_MODIFY));
  }

  @AfterEach
  void close() throws Exception {
    watch.close();
  }

  private void append(LogText text) throws Exception {
    Files.write(files.current(), text.bytes(), StandardOpenOption.APPEND);
  }

  /** As conmon does it. */
  private void rotate() throws Exception {
    Path next = directory.resolve("output.tmp");
    Files.write(next, new byte[0], StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING);
    Files.move(next, files.current(), java.nio.file.StandardCopyOption.ATOMIC_MOVE);
  }

  private List<String> read(LogQuery query) throws Exception {
    return read(query, EndSignal.ENDED);
  }

  private List<String> read(LogQuery query, EndSignal end) throws Exception {
    try (var reader = LogFileReader.open(files, query, watch, end, InstantSource.system())) {
      var lines = new ArrayList<String>();
      var line = reader.next();
      while (line.isPresent()) {
        lines.add(line.get().text() + (line.get().partial() ? "~" : ""));
        line = reader.next();
      }
      assertThat(reader.next()).isEmpty();
      return lines;
    }
  }

  @Test
  void givesBothStreamsInOrderAndEachAlone() throws Exception {
    append(new LogText().out(1, "a").err(1, "b").out(2, "").err(3, "c"));
    assertThat(read(LogQuery.ALL)).containsExactly("a", "b", "", "c");
    assertThat(read(LogQuery.ALL.only(LogRecord.Stream.STDERR))).containsExactly("b", "c");
  }

  @Test
  void leavesOutWhatIsOlderThanItIsToBeKept() throws Exception {
    files = new LogFiles(directory, new LogSpec(1 << 20, 3).withRetention(Duration.ofSeconds(5)));
    append(new LogText().out(1, "old").out(6, "kept").out(9, "new"));
    InstantSource clock = InstantSource.fixed(second(10));
    try (var reader = LogFileReader.open(files, LogQuery.ALL, watch, EndSignal.ENDED, clock)) {
      assertThat(reader.next().orElseThrow().text()).isEqualTo("kept");
      assertThat(reader.next().orElseThrow().text()).isEqualTo("new");
    }
    LogQuery later = LogQuery.ALL.withSince(second(8));
    try (var reader = LogFileReader.open(files, later, watch, EndSignal.ENDED, clock)) {
      assertThat(reader.next().orElseThrow().text()).isEqualTo("new");
    }
  }

  @Test
  void givesPiecesInTheOrderTheyWereWrittenAlsoAcrossGenerations() throws Exception {
    append(new LogText().outPiece(1, "he").errPiece(1, "wo").outPiece(1, "ll"));
    rotate();
    files.settle();
    append(new LogText().err(2, "rld").out(3, "o").outPiece(4, "end"));
    assertThat(read(LogQuery.ALL)).containsExactly("he~", "wo~", "ll~", "rld", "o", "end~");
  }

  /** The line of one stream that is not ended is neither lost nor late when the other writes. */
  @Test
  void anUnfinishedLineComesBeforeWhatTheOtherStreamWroteLater() throws Exception {
    append(new LogText().outPiece(1, "JSON").err(2, "log"));
    assertThat(read(LogQuery.ALL)).containsExactly("JSON~", "log");
    assertThat(read(LogQuery.ALL.withTail(1))).containsExactly("log");
    assertThat(read(LogQuery.ALL.withTail(2))).containsExactly("JSON~", "log");
  }

  @Test
  void bytesThatAreNoTextAreKept() throws Exception {
    append(
        new LogText().raw("2024-01-01T00:00:00.000000000+00:00 stdout F \u00ff\u0000\r\u0001\n"));
    try (var reader =
        LogFileReader.open(files, LogQuery.ALL, watch, EndSignal.ENDED, InstantSource.system())) {
      assertThat(reader.next().orElseThrow().bytes()).containsExactly(0xff, 0, 13, 1);
    }
  }

  @Test
  void whatACrashLeftDoesNotHurt() throws Exception {
    append(
        new LogText().out(1, "a").raw("\0\0\0\0\nrubbish\n\n2024-01-\n").raw("\0\0").out(2, "b"));
    append(new LogText().raw("z".repeat(700_000) + "\n").out(3, "c"));
    append(new LogText().raw("2024-01-01T00:00:09.000000000+00:00 stdout F torn"));
    assertThat(read(LogQuery.ALL)).containsExactly("a", "b", "c", "torn~");
    assertThat(read(LogQuery.ALL.withTail(2))).containsExactly("b", "c", "torn~");
    files.prepare();
    append(new LogText().out(10, "after"));
    assertThat(read(LogQuery.ALL)).containsExactly("a", "b", "c", "torn~", "after");
    append(new LogText().raw("2024-01-01T00:00:11.0000"));
    files.prepare();
    append(new LogText().out(12, "last"));
    assertThat(read(LogQuery.ALL)).containsExactly("a", "b", "c", "torn~", "after", "last");
  }

  @Test
  void theTailIsCountedPerLineNotPerPiece() throws Exception {
    append(new LogText().out(1, "1").outPiece(2, "tw").err(2, "e").out(2, "o").out(3, "3"));
    assertThat(read(LogQuery.ALL.withTail(0))).isEmpty();
    assertThat(read(LogQuery.ALL.withTail(1))).containsExactly("3");
    assertThat(read(LogQuery.ALL.withTail(2))).containsExactly("tw~", "o", "3");
    assertThat(read(LogQuery.ALL.withTail(3))).containsExactly("tw~", "e", "o", "3");
    assertThat(read(LogQuery.ALL.withTail(99))).containsExactly("1", "tw~", "e", "o", "3");
    assertThat(read(LogQuery.ALL.withTail(1).only(LogRecord.Stream.STDERR))).containsExactly("e");
    assertThat(read(LogQuery.ALL.withTail(1).withUntil(second(2)))).containsExactly("tw~", "o");
    assertThat(read(LogQuery.ALL.withTail(3).withSince(second(2)).withUntil(second(2))))
        .containsExactly("tw~", "e", "o");
  }

  /** Every question is asked of the log and of a list of what was written. */
  @Test
  void answersAsAPlainListWould() throws Exception {
    long seed = 20240101;
    var random = new Random(seed);
    var all = new ArrayList<LogRecord>();
    for (int second = 0; second < 3000; second++) {
      boolean out = random.nextInt(4) > 0;
      String text = second + " " + "x".repeat(random.nextInt(300));
      var line = new LogText();
      all.add(
          new LogRecord(
              second(second),
              out ? LogRecord.Stream.STDOUT : LogRecord.Stream.STDERR,
              text.getBytes(),
              false));
      append(out ? line.out(second, text) : line.err(second, text));
      if (second % 900 == 899) {
        rotate();
        files.settle();
      }
    }
    for (int i = 0; i < 200; i++) {
      LogQuery query = question(random);
      List<String> expected =
          new ArrayList<>(all.stream().filter(query::wants).map(LogRecord::text).toList());
      if (query.tail().isPresent()) {
        int from = Math.max(0, expected.size() - query.tail().getAsInt());
        expected = expected.subList(from, expected.size());
      }
      assertThat(read(query)).as("seed %d, question %d: %s", seed, i, query).isEqualTo(expected);
    }
  }

  private static LogQuery question(Random random) {
    LogQuery query = LogQuery.ALL;
    if (random.nextBoolean()) {
      query = query.withTail(random.nextInt(2000));
    }
    if (random.nextBoolean()) {
      query = query.withSince(second(random.nextInt(3200) - 100));
    }
    if (random.nextBoolean()) {
      query = query.withUntil(second(random.nextInt(3200) - 100));
    }
    if (random.nextInt(3) == 0) {
      query = query.only(LogRecord.Stream.values()[random.nextInt(2)]);
    }
    return random.nextBoolean() ? query.following() : query;
  }
}
