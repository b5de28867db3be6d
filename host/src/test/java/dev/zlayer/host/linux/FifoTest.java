package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FifoTest {
  @TempDir Path directory;
  private Path path;

  @BeforeEach
  void make() throws Exception {
    path = directory.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", path.toString()).start().waitFor()).isZero();
  }

  @Test
  void aWriterThatWaitsGoesOnAndIsHeardAlthoughItHasEnded() throws Exception {
    Process writer = new ProcessBuilder("sh", "-c", "printf 0 > \"$0\"", path.toString()).start();
    try (PidFd process = PidFd.open(writer.pid());
        Fifo fifo = Fifo.open(path).orElseThrow()) {
      assertThat(writer.waitFor()).isZero();
      assertThat(fifo.await(process, 10_000)).isEqualTo(Fifo.Answer.WRITTEN);
    }
  }

  @Test
  void silenceIsToldFromTheEnd() throws Exception {
    Process silent = new ProcessBuilder("sleep", "1000").start();
    try (PidFd process = PidFd.open(silent.pid());
        Fifo fifo = Fifo.open(path).orElseThrow()) {
      assertThat(fifo.await(process, 0)).isEqualTo(Fifo.Answer.NOTHING_YET);
      silent.destroyForcibly();
      assertThat(fifo.await(process, 10_000)).isEqualTo(Fifo.Answer.ENDED);
    } finally {
      silent.destroyForcibly();
    }
  }

  @Test
  void aReaderThatWaitsIsTold() throws Exception {
    assertThat(Fifo.tell(path)).as("nobody reads").isFalse();
    // opened for both, so that opening does not wait for us
    Process reader =
        new ProcessBuilder("sh", "-c", "exec 3<>\"$0\"; echo ready; head -c 1 <&3", path.toString())
            .start();
    assertThat(reader.getInputStream().readNBytes("ready\n".length())).hasSize(6);
    assertThat(Fifo.tell(path)).isTrue();
    assertThat(reader.waitFor()).isZero();
  }

  @Test
  void whatIsNotThereIsNotOpened() throws Exception {
    assertThat(Fifo.tell(directory.resolve("none"))).isFalse();
    assertThat(Fifo.open(directory.resolve("none"))).isEmpty();
  }
}
