package dev.zlayer.runtime.observe;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.LogSpec;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.runtime.log.EndSignal;
import dev.zlayer.runtime.log.LogFileReader;
import dev.zlayer.runtime.log.LogRotation;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Output of real containers, written by conmon. */
@Requires({Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.BUSYBOX})
@Timeout(120)
class LogIT {
  private static final LogSpec SPEC = LogSpec.DEFAULT;

  @TempDir Path directory;
  private Box box;
  private DirectoryWatchLoop watch;
  private LogRotation rotation;

  @BeforeEach
  void prepare() throws Exception {
    box = new Box(directory, Box.makeRoot(directory.resolve("root")), SPEC);
    watch =
        DirectoryWatchLoop.open(
            "follow",
            directory,
            List.of(StandardWatchEventKinds.ENTRY_MODIFY, StandardWatchEventKinds.ENTRY_CREATE));
    rotation = LogRotation.open(directory);
  }

  @AfterEach
  void close() throws Exception {
    box.close();
    rotation.close();
    watch.close();
  }

  private LogFileReader open(LogQuery query) {
    return LogFileReader.open(
        box.logs(), query, watch, EndSignal.when(box.exitFile(), watch), InstantSource.system());
  }

  @Test
  void givesTheOutputOfBothStreamsAsItWasWritten() throws Exception {
    // two pipes have no order but time: each line is written when the one before was seen
    box.start(
        "echo one; until [ -e /data/one ]; do busybox usleep 20000; done; echo two >&2;"
            + " until [ -e /data/two ]; do busybox usleep 20000; done;"
            + " busybox printf 'a\\377b\\n'; seq -s , 1 5000; busybox printf 'no end'");
    var records = new ArrayList<LogRecord>();
    try (var reader = open(LogQuery.ALL.following())) {
      var line = reader.next();
      while (line.isPresent()) {
        records.add(line.get());
        if (List.of("one", "two").contains(line.get().text())) {
          Files.createFile(box.root().resolve("data").resolve(line.get().text()));
        }
        line = reader.next();
      }
    }
    assertThat(records.get(0).text()).isEqualTo("one");
    assertThat(records.get(1).stream()).isEqualTo(LogRecord.Stream.STDERR);
    var stdout = new ByteArrayOutputStream();
    for (LogRecord record : records) {
      if (record.stream() == LogRecord.Stream.STDOUT) {
        stdout.writeBytes(record.bytes());
        stdout.writeBytes(record.partial() ? new byte[0] : new byte[] {'\n'});
      }
    }
    String sequence =
        IntStream.rangeClosed(1, 5000).mapToObj(String::valueOf).collect(Collectors.joining(","));
    assertThat(stdout.toString(StandardCharsets.ISO_8859_1))
        .isEqualTo("one\na\u00ffb\n" + sequence + "\nno end");
    assertThat(records).isSortedAccordingTo(java.util.Comparator.comparing(LogRecord::time));
  }

  /** About 100 MB as fast as the container can, followed and rotated meanwhile. */
  @Test
  void aLogBombIsBoundedAndTheNewestLinesAreKept() throws Exception {
    int count = 2_000_000;
    box.create("seq 1 " + count);
    try (var _ = rotation.keep(box.logs());
        var scope = new TaskScope("test")) {
      var followed = scope.fork(this::numbersFollowed);
      var largest = scope.fork(this::largestUse);
      box.startCreated();
      scope.join();
      assertThat(largest.result()).isLessThanOrEqualTo(SPEC.maxFileBytes() * (SPEC.files() + 2L));

      List<Integer> kept = numbers(LogQuery.ALL);
      assertThat(kept.getLast()).isEqualTo(count);
      // two full files of lines of 53 bytes, and no hole
      assertThat(kept).hasSizeGreaterThan((int) (2 * SPEC.maxFileBytes() / 60));
      assertThat(kept.getLast() - kept.getFirst()).isEqualTo(kept.size() - 1);

      assertThat(followed.result()).isSorted().doesNotHaveDuplicates();
      Set<Integer> seen = new HashSet<>(followed.result());
      assertThat(kept.stream().filter(number -> !seen.contains(number))).isEmpty();
    }
  }

  @Test
  void theDiskIsBoundedAlsoWhileNobodyLooks() throws Exception {
    box.start("seq 1 2000000");
    box.awaitEnd();
    assertThat(use()).isLessThanOrEqualTo(SPEC.maxFileBytes() * 3);
    assertThat(numbers(LogQuery.ALL.withTail(1))).containsExactly(2_000_000);
  }

  @Test
  void aRestartGoesOnInTheSameLog() throws Exception {
    box.start("echo 1");
    box.awaitEnd();
    box.close();
    box.start("echo 2");
    box.awaitEnd();
    assertThat(numbers(LogQuery.ALL)).containsExactly(1, 2);
  }

  private List<Integer> numbersFollowed() throws Exception {
    return numbers(LogQuery.ALL.following());
  }

  private List<Integer> numbers(LogQuery query) throws Exception {
    var numbers = new ArrayList<Integer>();
    var line = new StringBuilder();
    try (var reader = open(query)) {
      for (var next = reader.next(); next.isPresent(); next = reader.next()) {
        line.append(next.get().text());
        if (!next.get().partial()) {
          numbers.add(Integer.valueOf(line.toString()));
          line.setLength(0);
        }
      }
    }
    return numbers;
  }

  private long largestUse() throws Exception {
    long largest = 0;
    while (!box.ended()) {
      largest = Math.max(largest, use());
    }
    return largest;
  }

  /** Bytes of all files, each counted once. */
  private long use() throws IOException {
    try (Stream<Path> files = Files.list(box.logs().directory())) {
      var counted = new HashSet<Object>();
      long total = 0;
      for (Path file : (Iterable<Path>) files::iterator) {
        try {
          if (counted.add(Files.getAttribute(file, "unix:ino"))) {
            total += Files.size(file);
          }
        } catch (NoSuchFileException _) {
          // rotated out
        }
      }
      return total;
    }
  }
}
