package dev.zlayer.runtime.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogSpec;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.task.TaskScope;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogFilesTest {
  @TempDir Path directory;
  private LogFiles files;

  @BeforeEach
  void prepare() throws Exception {
    files = new LogFiles(directory, new LogSpec(10, 3));
    files.prepare();
  }

  private void append(String text) throws Exception {
    Files.writeString(files.current(), text, StandardOpenOption.APPEND);
  }

  private void rotate() throws Exception {
    Path next = directory.resolve("output.tmp");
    Files.writeString(next, "", StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING);
    Files.move(next, files.current(), StandardCopyOption.ATOMIC_MOVE);
  }

  private String kept() throws Exception {
    var out = new ByteArrayOutputStream();
    files.copyTo(out);
    return out.toString();
  }

  @Test
  void keepsAsManyAsAskedAndDropsTheOldest() throws Exception {
    for (int i = 1; i <= 5; i++) {
      append("gen " + i + " x\n");
      rotate();
      files.settle();
    }
    append("now\n");
    assertThat(kept()).isEqualTo("gen 4 x\ngen 5 x\nnow\n");
  }

  private List<String> read(LogQuery query) throws Exception {
    var lines = new ArrayList<String>();
    try (var watch =
            DirectoryWatchLoop.open(
                "test", directory, List.of(StandardWatchEventKinds.ENTRY_CREATE));
        var reader =
            LogFileReader.open(files, query, watch, EndSignal.ENDED, InstantSource.system())) {
      for (var line = reader.next(); line.isPresent(); line = reader.next()) {
        lines.add((reader.gap() ? "GAP " : "") + line.get().text());
      }
    }
    return lines;
  }

  private void line(long second, String text) throws Exception {
    Files.write(
        files.current(), new LogText().out(second, text).bytes(), StandardOpenOption.APPEND);
  }

  @Test
  void aReaderIsToldThatEarlierOutputWasDropped() throws Exception {
    files = new LogFiles(directory, new LogSpec(100, 3));
    line(1, "1");
    assertThat(read(LogQuery.ALL)).containsExactly("1");
    for (int i = 2; i <= 6; i++) {
      rotate();
      files.settle();
      line(i, "%d %s".formatted(i, "x".repeat(60)));
    }
    assertThat(read(LogQuery.ALL).getFirst()).startsWith("GAP ");
    assertThat(read(LogQuery.ALL)).filteredOn(line -> line.startsWith("GAP")).hasSize(1);
    assertThat(read(LogQuery.ALL.withTail(1))).noneMatch(line -> line.startsWith("GAP"));
  }

  @Test
  void aReaderIsToldWhereOutputBetweenTwoFilesMayBeMissing() throws Exception {
    files = new LogFiles(directory, new LogSpec(10_000, 3));
    line(1, "a");
    rotate(); // to the prepared one
    line(2, "b");
    rotate(); // to one of conmon's own
    line(3, "lost");
    rotate();
    line(4, "d");
    assertThat(read(LogQuery.ALL)).containsExactly("a", "b", "GAP d");
    files.settle();
    assertThat(read(LogQuery.ALL)).containsExactly("a", "b", "GAP d");
    rotate();
    files.settle();
    line(5, "e");
    assertThat(read(LogQuery.ALL)).containsExactly("a", "b", "GAP d", "e");
  }

  @Test
  void dropsWhatIsOlderThanItIsToBeKept() throws Exception {
    files = new LogFiles(directory, new LogSpec(1000, 3).withRetention(Duration.ofHours(1)));
    append("old\n");
    Files.setLastModifiedTime(
        files.current(), FileTime.from(Instant.now().minus(Duration.ofHours(2))));
    rotate();
    append("newer\n");
    files.settle();
    assertThat(kept()).isEqualTo("newer\n");
  }

  @Test
  void survivesARotationThatWasNotPreparedFor() throws Exception {
    append("a\n");
    rotate(); // to the prepared one
    append("b\n");
    rotate(); // to one of conmon's own
    append("c\n");
    assertThat(kept()).isEqualTo("a\nb\nc\n");
    files.settle();
    rotate();
    append("d\n");
    assertThat(kept()).isEqualTo("a\nb\nc\nd\n");
  }

  @Test
  void aHalfFullFileIsNotGoneOnWith() throws Exception {
    append("1234\n");
    files.prepare();
    assertThat(files.current()).isEmptyFile();
    append("1\n");
    files.prepare();
    assertThat(files.current()).hasContent("1\n");
    assertThat(kept()).isEqualTo("1234\n1\n");
  }

  @Test
  void takesOverAFileThatNobodyPrepared() throws Exception {
    Path other = directory.resolve("other");
    Files.createDirectory(other);
    Files.writeString(other.resolve("output"), "x\n");
    var found = new LogFiles(other, LogSpec.DEFAULT);
    found.settle();
    found.settle();
    assertThat(other).isDirectoryContaining("glob:**/output.1");
    assertThat(found.generations()).hasSize(2);
  }

  @Test
  void settlingAfterTheFilesWereRemovedIsHarmless() throws Exception {
    for (LogFiles.Generation generation : files.generations()) {
      Files.delete(generation.path());
    }
    Files.delete(directory.resolve("output.tmp"));
    Files.delete(files.current());
    files.settle();
    assertThat(directory).isEmptyDirectory();
  }

  /**
   * The writer goes on while the files are settled, so it meets every moment between two steps. A
   * file that got lost must have left its number out.
   */
  @Test
  void whatWasDroppedIsMarkedHoweverFastTheWriterIs() throws Exception {
    var random = new Random(14);
    long written = 0;
    for (int round = 0; round < 3_000; round++) {
      int rotations = random.nextInt(5);
      int spins = random.nextInt(400);
      long first = written;
      var failure = new AtomicReference<Exception>();
      Thread writer =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      for (int i = 0; i < rotations; i++) {
                        for (int spin = 0; spin < spins * i; spin++) {
                          Thread.onSpinWait();
                        }
                        rotate();
                        append(first + i + 1 + "\n");
                      }
                    } catch (Exception e) {
                      failure.set(e);
                    }
                  });
      written += rotations;
      files.settle();
      writer.join(Duration.ofSeconds(30));
      assertThat(failure.get()).isNull();
      files.settle();
      LogFiles.Generation before = null;
      for (LogFiles.Generation generation : files.readable()) {
        if (before != null && generation.number() == before.number() + 1) {
          assertThat(number(generation)).as("round %s", round).isEqualTo(number(before) + 1);
        }
        before = generation;
      }
    }
  }

  /** The same for who reads at any moment, also while numbers are given and left out. */
  @Test
  void readersAreToldWhatWasDroppedWhileItIsFoundOut() throws Exception {
    var random = new Random(15);
    var written = new AtomicLong();
    for (int round = 0; round < 3_000; round++) {
      int rotations = random.nextInt(5);
      int spins = random.nextInt(400);
      int reads = random.nextInt(4);
      try (var both = new TaskScope("round", 2)) {
        both.fork(
            () -> {
              for (int i = 0; i < rotations; i++) {
                for (int spin = 0; spin < spins * i; spin++) {
                  Thread.onSpinWait();
                }
                rotate();
                append(written.incrementAndGet() + "\n");
              }
              return true;
            });
        both.fork(
            () -> {
              files.settle();
              return true;
            });
        for (int read = 0; read <= reads; read++) {
          assertGapsAreMarked(round);
        }
        both.join();
      }
      files.settle();
    }
  }

  private void assertGapsAreMarked(int round) throws Exception {
    long before = 0;
    for (LogPart part : LogPart.openAll(files)) {
      try (part) {
        var bytes = ByteBuffer.allocate(32);
        int _ = part.channel().read(bytes, 0);
        String text = new String(bytes.array(), 0, bytes.position(), StandardCharsets.US_ASCII);
        long number = text.isBlank() ? 0 : Long.parseLong(text.strip());
        if (before > 0 && number > 0 && !part.afterGap()) {
          assertThat(number).as("round %s", round).isEqualTo(before + 1);
        }
        before = number;
      }
    }
  }

  private static long number(LogFiles.Generation generation) throws Exception {
    String text = Files.readString(generation.path()).strip();
    return text.isEmpty() ? 0 : Long.parseLong(text);
  }
}
