package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SpawnTest {
  private final List<OwnedDescriptor> opened = new ArrayList<>();

  @AfterEach
  void close() {
    opened.forEach(OwnedDescriptor::close);
  }

  @Test
  void aChildGetsItsDescriptorsInOrderWhateverNumbersTheyHaveHere() throws Exception {
    for (int i = 0; i < 50; i++) {
      opened.add(Descriptors.memory("numbered"));
    }
    List<OwnedDescriptor> files = opened.reversed();
    int highest = 0;
    for (OwnedDescriptor file : files) {
      try (var use = file.use()) {
        highest = Math.max(highest, use.number());
      }
    }
    var given = new ArrayList<>(files);
    while (given.size() <= highest) { // so many that each number here is also one there
      given.add(opened.getFirst());
    }

    long child = shell("for i in $(seq 0 49); do echo $i > /proc/self/fd/$i; done", given);
    assertThat(exitCode(child)).isZero();
    for (int i = 0; i < files.size(); i++) {
      assertThat(text(files.get(i))).isEqualTo(i + "\n");
    }
  }

  @Test
  void howAChildEndedIsToldOnce() throws Exception {
    List<OwnedDescriptor> none = List.of();
    assertThat(exitCode(shell("exit 7", none))).isEqualTo(7);
    long killed = shell("kill -9 $$", none);
    assertThat(exitCode(killed)).isEqualTo(137);
    assertThat(Spawn.exitCode(killed)).as("it is gone").hasValue(-1);
  }

  @Test
  void oneThatRunsHasNotEnded() throws Exception {
    Descriptors.Pipe pipe = Descriptors.pipe();
    opened.addAll(List.of(pipe.reading(), pipe.writing()));
    long child = shell("read line; exit 3", List.of(pipe.reading()));
    assertThat(Spawn.exitCode(child)).isEmpty();
    pipe.writing().close();
    assertThat(exitCode(child)).isEqualTo(3);
  }

  @Test
  void aProgramThatIsNotThereIsNoChild() {
    assertThatThrownBy(
            () -> Spawn.start(List.of("/no/such/x"), List.of(), Optional.empty(), List.of()))
        .isInstanceOf(ErrnoException.class)
        .hasMessage("start /no/such/x: no such file or directory (errno 2)");
  }

  private static long shell(String script, List<OwnedDescriptor> given) throws IOException {
    return Spawn.start(
        List.of("/bin/sh", "-c", script), List.of("PATH=/usr/bin:/bin"), Optional.empty(), given);
  }

  private static int exitCode(long child) {
    var code = new ArrayList<Integer>();
    Awaitility.await()
        .until(
            () -> {
              Spawn.exitCode(child).ifPresent(code::add);
              return !code.isEmpty();
            });
    return code.getFirst();
  }

  private static String text(OwnedDescriptor file) throws IOException {
    return new String(Descriptors.contents(file, 1 << 20), StandardCharsets.UTF_8);
  }
}
