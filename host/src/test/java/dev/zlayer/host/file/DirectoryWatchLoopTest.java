package dev.zlayer.host.file;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DirectoryWatchLoopTest {
  private static final Duration LIMIT = Duration.ofSeconds(30);

  @TempDir Path directory;

  private DirectoryWatchLoop open() throws Exception {
    return DirectoryWatchLoop.open(
        "watch-test", directory, List.of(StandardWatchEventKinds.ENTRY_CREATE));
  }

  @Test
  void aThousandListenersThatEndAtOnceDoNotBlockEachOther() throws Exception {
    int count = 1000;
    try (DirectoryWatchLoop loop = open()) {
      var registrations = new ArrayList<DirectoryWatchLoop.Registration>();
      for (int i = 0; i < count; i++) {
        Path one = Files.createDirectory(directory.resolve("d" + i));
        registrations.add(loop.watch(one, () -> {}));
      }
      var begin = new CountDownLatch(1);
      var ended = new CountDownLatch(count);
      for (var registration : registrations) {
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    begin.await();
                    registration.close();
                    ended.countDown();
                  } catch (InterruptedException _) {
                    // not counted
                  }
                });
      }
      begin.countDown();
      assertThat(ended.await(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }
  }

  /** As readers of logs do whose caller leaves: whoever opened them closes them, too. */
  @Test
  void aRegistrationMayEndTwice() throws Exception {
    try (DirectoryWatchLoop loop = open()) {
      var registration = loop.watch(directory, () -> {});
      registration.close();
      registration.close();
    }
  }

  @Test
  void aDirectoryIsWatchedUntilItsLastListenerLeaves() throws Exception {
    var first = new AtomicInteger();
    var second = new AtomicInteger();
    try (DirectoryWatchLoop loop = open()) {
      DirectoryWatchLoop.Registration one = loop.watch(directory, first::incrementAndGet);
      DirectoryWatchLoop.Registration other = loop.watch(directory, second::incrementAndGet);
      one.close();
      one.close();
      Files.createFile(directory.resolve("a"));
      Awaitility.await().atMost(LIMIT).until(() -> second.get() > 0);
      assertThat(first).hasValue(0);

      other.close();
      DirectoryWatchLoop.Registration again = loop.watch(directory, first::incrementAndGet);
      Files.createFile(directory.resolve("b"));
      Awaitility.await().atMost(LIMIT).until(() -> first.get() > 0);
      again.close();
    }
  }
}
