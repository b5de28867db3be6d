package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.task.TaskScope;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class OwnedDescriptorTest {
  private static final int ROUNDS = 300;

  @TempDir Path directory;

  @Test
  void aClosedOneIsNotUsedAgain() throws Exception {
    OwnedDescriptor closed = Descriptors.nothing();
    closed.close();
    closed.close();
    assertThatThrownBy(() -> closed.write(new byte[1], 0, 1))
        .isInstanceOfSatisfying(
            ErrnoException.class, e -> assertThat(e.errno()).isEqualTo(ErrnoException.EBADF));
    assertThatThrownBy(() -> closed.read(new byte[1])).isInstanceOf(ErrnoException.class);
    assertThatThrownBy(() -> Descriptors.copy(closed, 0)).isInstanceOf(ErrnoException.class);
  }

  /** The next file that is opened gets the number; a late write must not reach it. */
  @Test
  void aWriterThatIsLateReachesNoOtherFile() throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      OwnedDescriptor nothing = Descriptors.nothing();
      var writing = new CountDownLatch(2);
      try (var scope = new TaskScope("writers")) {
        scope.fork(() -> writeUntilClosed(nothing, writing));
        scope.fork(() -> writeUntilClosed(nothing, writing));
        writing.await();
        nothing.close();
        try (var other =
            FileChannel.open(
                directory.resolve("file" + round),
                StandardOpenOption.CREATE_NEW,
                StandardOpenOption.WRITE)) {
          scope.join();
          assertThat(other.size()).isZero();
        }
      }
    }
  }

  private static boolean writeUntilClosed(OwnedDescriptor descriptor, CountDownLatch writing) {
    byte[] late = "late".getBytes(java.nio.charset.StandardCharsets.UTF_8);
    try {
      for (int i = 0; ; i++) {
        descriptor.write(late, 0, late.length);
        if (i == 0) {
          writing.countDown();
        }
      }
    } catch (java.io.IOException _) {
      return true;
    }
  }

  @Test
  void oneThatIsUsedIsClosedByItsLastUser() throws Exception {
    OwnedDescriptor used = Descriptors.memory("used");
    Path open;
    try (var use = used.use()) {
      open = Path.of("/proc/self/fd/" + use.number());
      used.close();
      assertThat(Files.readSymbolicLink(open)).asString().contains("memfd:used");
      assertThatThrownBy(used::use).isInstanceOf(ErrnoException.class);
    }
    assertThat(Files.isSymbolicLink(open) ? Files.readSymbolicLink(open) + "" : "")
        .doesNotContain("memfd:used");
  }
}
