package dev.zlayer.runtime.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogSpec;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.task.TaskScope;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.StandardWatchEventKinds;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class LogFollowTest {
  @TempDir Path directory;
  private Path logs;
  private Path exitFile;
  private LogFiles files;
  private DirectoryWatchLoop watch;
  private LogRotation rotation;
  private DirectoryWatchLoop.Registration kept;

  @BeforeEach
  void prepare() throws Exception {
    logs = directory.resolve("logs");
    exitFile = Files.createDirectory(directory.resolve("exits")).resolve("box");
    files = new LogFiles(logs, new LogSpec(100_000, 10));
    files.prepare();
    watch =
        DirectoryWatchLoop.open(
            "follow",
            directory,
            List.of(StandardWatchEventKinds.ENTRY_MODIFY, StandardWatchEventKinds.ENTRY_CREATE));
    rotation = LogRotation.open(directory);
    kept = rotation.keep(files);
  }

  @AfterEach
  void close() throws Exception {
    kept.close();
    rotation.close();
    watch.close();
  }

  private LogFileReader follow(LogQuery query) {
    return LogFileReader.open(
        files, query.following(), watch, EndSignal.when(exitFile, watch), InstantSource.system());
  }

  @Test
  void givesWhatComesAndEndsWithTheContainer() throws Exception {
    try (var scope = new TaskScope("test");
        var reader = follow(LogQuery.ALL)) {
      var seen = new CountDownLatch(1);
      var lines = scope.fork(() -> collect(reader, seen));
      append(new LogText().out(1, "first").outPiece(2, "second, no end"));
      seen.await();
      Files.createFile(exitFile);
      scope.join();
      assertThat(lines.result()).containsExactly("first", "second, no end");
    }
  }

  @Test
  void tellsBeforeItWaitsAndNotWhileLinesAreThere() throws Exception {
    append(new LogText().out(1, "a").out(2, "b"));
    var waits = new Semaphore(0);
    try (var scope = new TaskScope("test");
        var reader = follow(LogQuery.ALL)) {
      assertThat(reader.next(waits::release).orElseThrow().text()).isEqualTo("a");
      assertThat(reader.next(waits::release).orElseThrow().text()).isEqualTo("b");
      assertThat(waits.availablePermits()).isZero();
      var third = scope.fork(() -> reader.next(waits::release));
      waits.acquire();
      append(new LogText().out(3, "c"));
      scope.join();
      assertThat(third.result().orElseThrow().text()).isEqualTo("c");
    }
  }

  @Test
  void closingItFromElsewhereEndsTheWait() throws Exception {
    try (var scope = new TaskScope("test")) {
      var reader = follow(LogQuery.ALL.withTail(0));
      var lines = scope.fork(() -> collect(reader, new CountDownLatch(1)));
      reader.close();
      scope.join();
      assertThat(lines.result()).isEmpty();
    }
  }

  @Test
  void aTimeLimitInThePastEndsAFollow() throws Exception {
    append(new LogText().out(1, "a").out(5, "b"));
    try (var reader = follow(LogQuery.ALL.withUntil(LogText.second(9)))) {
      assertThat(reader.next().orElseThrow().text()).isEqualTo("a");
      assertThat(reader.next().orElseThrow().text()).isEqualTo("b");
      assertThat(reader.next()).isEmpty();
    }
  }

  /** A writer that rotates as conmon does. */
  @Test
  void losesNothingWhileFilesAreRotatedUnderIt() throws Exception {
    int count = 20_000;
    try (var scope = new TaskScope("test");
        var reader = follow(LogQuery.ALL)) {
      var read = new AtomicInteger();
      var lines =
          scope.fork(
              () -> {
                var all = new ArrayList<String>();
                for (var line = reader.next(); line.isPresent(); line = reader.next()) {
                  all.add(line.get().text());
                  read.incrementAndGet();
                }
                return all;
              });
      scope.fork(
          () -> {
            writeLikeConmon(count, read);
            Files.createFile(exitFile);
            return true;
          });
      scope.join();
      assertThat(lines.result()).hasSize(count);
      assertThat(lines.result().getLast()).isEqualTo("line " + (count - 1));
    }
    // the oldest file goes soon after the last rotation
    await()
        .untilAsserted(
            () -> assertThat(kept()).isLessThanOrEqualTo(1_000_000).isGreaterThan(800_000));
  }

  private long kept() throws Exception {
    return files.readable().stream().mapToLong(LogFiles.Generation::size).sum();
  }

  private void writeLikeConmon(int count, AtomicInteger read) throws Exception {
    FileChannel channel = FileChannel.open(files.current(), StandardOpenOption.WRITE);
    long written = 0;
    for (int i = 0; i < count; i++) {
      byte[] line = new LogText().out(i, "line " + i).bytes();
      if (written + line.length > 100_000) {
        channel.close();
        Path next = logs.resolve("output.tmp");
        // conmon does not wait; the next file is long ready when it has written 10 MB
        await().pollInterval(Duration.ofMillis(1)).until(() -> Files.exists(next));
        // 1.1 MB are written and 1 MB is kept: the reader must never be a whole log behind
        int enough = i - count / 2;
        await().pollInterval(Duration.ofMillis(1)).until(() -> read.get() >= enough);
        channel =
            FileChannel.open(
                next,
                StandardOpenOption.WRITE,
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING);
        Files.move(next, files.current(), StandardCopyOption.ATOMIC_MOVE);
        written = 0;
      }
      channel.write(java.nio.ByteBuffer.wrap(line));
      written += line.length;
    }
    channel.close();
  }

  private void append(LogText text) throws Exception {
    Files.write(files.current(), text.bytes(), StandardOpenOption.APPEND);
  }

  private static List<String> collect(LogFileReader reader, CountDownLatch first)
      throws InterruptedException {
    var lines = new ArrayList<String>();
    var line = reader.next();
    while (line.isPresent()) {
      lines.add(line.get().text());
      first.countDown();
      line = reader.next();
    }
    return lines;
  }
}
