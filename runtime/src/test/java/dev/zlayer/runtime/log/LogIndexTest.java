package dev.zlayer.runtime.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.LogSpec;
import dev.zlayer.host.file.DirectoryWatchLoop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.StandardWatchEventKinds;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Searches through long logs: what a plain reading of all of it finds, without reading all. */
class LogIndexTest {
  private static final List<String> WORDS =
      List.of("request", "Response", "ERROR", "disk", "full", "größe", "GET", "/index.html", "200");

  @TempDir Path directory;
  private final Random random = new Random(11);
  private LogFiles files;
  private DirectoryWatchLoop watch;

  @BeforeEach
  void prepare() throws Exception {
    files = new LogFiles(directory, new LogSpec(4 << 20, 4));
    files.prepare();
    watch =
        DirectoryWatchLoop.open("test", directory, List.of(StandardWatchEventKinds.ENTRY_MODIFY));
  }

  @AfterEach
  void close() throws Exception {
    watch.close();
  }

  private void append(LogText text) throws IOException {
    Files.write(files.current(), text.bytes(), StandardOpenOption.APPEND);
  }

  private void rotate() throws IOException {
    Path next = directory.resolve("output.tmp");
    Files.write(next, new byte[0], StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING);
    Files.move(next, files.current(), StandardCopyOption.ATOMIC_MOVE);
    files.settle();
  }

  /** Lines of both streams, some in pieces, some very long; one has the needle. */
  private LogText lines(int count, String needle) {
    var text = new LogText();
    int special = random.nextInt(count);
    for (int index = 0; index < count; index++) {
      var line = new StringBuilder().append(index);
      int words = random.nextInt(100) == 0 ? 4000 : random.nextInt(12);
      for (int word = 0; word < words; word++) {
        line.append(' ').append(WORDS.get(random.nextInt(WORDS.size())));
      }
      if (index == special) {
        line.insert(random.nextInt(line.length() + 1), needle);
      }
      boolean err = random.nextInt(4) == 0;
      int at = 0;
      while (random.nextInt(3) == 0 && at < line.length()) {
        int end = at + random.nextInt(line.length() - at + 1);
        String piece = utf8(line.substring(at, end));
        text = err ? text.errPiece(index, piece) : text.outPiece(index, piece);
        at = end;
      }
      String rest = utf8(line.substring(at));
      text = err ? text.err(index, rest) : text.out(index, rest);
    }
    return text;
  }

  /** The log text takes bytes as characters. */
  private static String utf8(String text) {
    return new String(
        text.getBytes(java.nio.charset.StandardCharsets.UTF_8),
        java.nio.charset.StandardCharsets.ISO_8859_1);
  }

  /** Whole lines of a query, in the order in which they ended. */
  private List<String> lines(LogQuery query) throws Exception {
    try (var reader =
        LogFileReader.open(files, query, watch, EndSignal.ENDED, InstantSource.system())) {
      var lines = new ArrayList<String>();
      var open = new EnumMap<LogRecord.Stream, String>(LogRecord.Stream.class);
      for (var record = reader.next(); record.isPresent(); record = reader.next()) {
        LogRecord.Stream stream = record.get().stream();
        String all = open.getOrDefault(stream, "") + record.get().text();
        if (record.get().partial()) {
          open.put(stream, all);
        } else {
          open.remove(stream);
          lines.add(all);
        }
      }
      return lines;
    }
  }

  private List<String> found(String text, boolean ignoreCase) throws Exception {
    return lines(LogQuery.ALL.searching(new LogQuery.Containing(text, ignoreCase))).stream()
        .filter(line -> contains(line, text, ignoreCase))
        .toList();
  }

  private static boolean contains(String line, String text, boolean ignoreCase) {
    return ignoreCase
        ? line.toLowerCase(Locale.ROOT).contains(text.toLowerCase(Locale.ROOT))
        : line.contains(text);
  }

  @Test
  void findsWhatAPlainReadingFinds() throws Exception {
    List<String> needles = List.of("needle-one", "Nadel", "größere", "x;y");
    for (int part = 0; part < 3; part++) {
      append(lines(3000, needles.get(part)));
      rotate();
    }
    append(lines(3000, needles.get(3)));
    List<String> all = lines(LogQuery.ALL);

    for (int round = 0; round < 2; round++) { // without an index, then with it
      for (String text :
          List.of(
              "needle-one", "nadel", "Größe", "x;y", "disk full", "ERROR E", "ab", "7 req", "-")) {
        for (boolean ignoreCase : List.of(false, true)) {
          assertThat(found(text, ignoreCase))
              .as("%s %s", text, ignoreCase)
              .isEqualTo(all.stream().filter(line -> contains(line, text, ignoreCase)).toList());
        }
      }
      append(lines(1500, "later"));
      all = lines(LogQuery.ALL);
    }
    assertThat(found("later", false)).hasSize(2);
  }

  @Test
  void readsAFewBlocksOfALongLog() throws Exception {
    append(lines(20_000, "needle-one"));
    int all = lines(LogQuery.ALL).size();

    int read = lines(LogQuery.ALL.searching(new LogQuery.Containing("needle-one", false))).size();

    assertThat(read).isBetween(1, all / 5);
    try (Stream<Path> listed = Files.list(directory)) {
      List<Path> indexes =
          listed.filter(file -> file.getFileName().toString().startsWith("index.")).toList();
      assertThat(indexes).hasSize(1);
      assertThat(Files.size(indexes.getFirst())).isLessThan(Files.size(files.current()) / 12);
    }
  }

  @Test
  void isMadeAnewWhenItIsDamagedOrOfAnotherFile() throws Exception {
    append(lines(5000, "needle-one"));
    assertThat(found("needle-one", false)).hasSize(1);
    Path index = directory.resolve("index.1");
    byte[] bytes = Files.readAllBytes(index);
    byte[] good = bytes.clone();

    bytes[bytes.length / 2] ^= 0x55;
    Files.write(index, bytes);
    assertThat(found("needle-one", false)).hasSize(1);
    assertThat(Files.readAllBytes(index)).isEqualTo(good);
    Files.write(index, new byte[3]);
    assertThat(found("needle-one", false)).hasSize(1);
    Files.delete(index);
    Files.createDirectory(index); // nothing can be kept there
    assertThat(found("needle-one", false)).hasSize(1);
  }

  @Test
  void goesWithItsLog() throws Exception {
    files = new LogFiles(directory, new LogSpec(1 << 20, 2));
    for (int part = 0; part < 4; part++) {
      append(lines(3000, "needle" + part));
      assertThat(found("needle" + part, false)).hasSize(1);
      rotate();
    }
    try (Stream<Path> listed = Files.list(directory)) {
      assertThat(listed.filter(file -> file.getFileName().toString().startsWith("index.")))
          .hasSizeLessThan(3);
    }
  }
}
