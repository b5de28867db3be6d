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
  void whatIsNotThereIsNotOpened() throws Exception {
    assertThat(Fifo.open(directory.resolve("none"))).isEmpty();
  }
}
