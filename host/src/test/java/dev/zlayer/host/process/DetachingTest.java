package dev.zlayer.host.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class DetachingTest {
  private static final int MANY = 100;
  @TempDir Path directory;
  private final Deadline soon = Deadline.after(Duration.ofSeconds(100));
  private Detaching detaching;

  @BeforeEach
  void open() throws IOException {
    var opened = Detaching.open();
    Assumptions.assumeTrue(opened.isPresent(), "the C library cannot close from a descriptor on");
    detaching = opened.get();
  }

  @AfterEach
  void close() {
    if (detaching != null) {
      detaching.close();
    }
  }

  private Command shell(String script) {
    return Command.of("sh", "-c", script).in(directory);
  }

  private String told(String script) throws Exception {
    return detaching.run(shell(script), soon).stdout();
  }

  @Test
  void tellsTheFirstLineTheCodeAndTheErrors() throws Exception {
    CommandResult result =
        detaching.run(
            shell("echo no; echo why >&2; printf 'a b' >&3; printf 'c\\nd\\n' >&3; exit 7"), soon);

    assertThat(result.stdout()).isEqualTo("a bc\n");
    assertThat(result.stderr()).isEqualTo("why\n");
    assertThat(result.code()).isEqualTo(7);
  }

  @Test
  void oneThatTellsNothingEndsTheWaitByItsEnd() throws Exception {
    CommandResult result = detaching.run(shell("echo first >&2; echo last >&2; exit 9"), soon);

    assertThat(result.stdout()).isEmpty();
    assertThat(result.code()).isEqualTo(9);
    assertThat(result.lastLine()).isEqualTo("last");
  }

  @Test
  void aLineMayComeFromOneThatGoesOnAfterTheFirstProcessHasGone() throws Exception {
    Path pids = directory.resolve("pids");
    String line =
        told(
            "(while grep -q '^State:.[^Z]' /proc/$$/status; do sleep 0.05; done;"
                + " echo told >&3; exec sleep 1000) & echo $! > pids");

    assertThat(line).isEqualTo("told\n");
    long other = Long.parseLong(Files.readString(pids).strip());
    assertThat(ProcessHandle.of(other)).isPresent();
    ProcessHandle.of(other).ifPresent(ProcessHandle::destroyForcibly);
  }

  @Test
  void theEnvironmentIsThatOfOtherChildren() throws Exception {
    String print = "tr '\\0' '|' < /proc/self/environ";
    Command other = shell(print).withEnv(Map.of("GREETING", "hello there"));

    CommandResult ours =
        detaching.run(shell(print + " >&3").withEnv(Map.of("GREETING", "hello there")), soon);
    assertThat(ours.stdout().split("\\|", -1))
        .contains("GREETING=hello there")
        .containsExactlyInAnyOrder(Processes.run(other, soon).stdout().split("\\|", -1));
  }

  @Test
  void itRunsInItsDirectory() throws Exception {
    assertThat(told("pwd -P >&3")).isEqualTo(directory.toRealPath() + "\n");
  }

  @Test
  void noDescriptorOfOursIsInherited() throws Exception {
    try (var socket = ServerSocketChannel.open();
        var file = new RandomAccessFile(directory.resolve("file").toFile(), "rw")) {
      assertThat(socket.isOpen() && file.getFD().valid()).isTrue();
      assertThat(inheritable()).as("there are some to be closed").isNotEmpty();

      assertThat(told("exec ls /proc/self/fd > list")).isEmpty();
      assertThat(Files.readAllLines(directory.resolve("list")))
          .as("the last is the directory that is listed")
          .containsExactly("0", "1", "2", "3", "4");
      assertThat(told("echo $(readlink /proc/$$/fd/0 /proc/$$/fd/1) >&3"))
          .isEqualTo("/dev/null /dev/null\n");
    }
  }

  /** Numbers above 3 of descriptors that stay open in a child unless somebody closes them. */
  private static List<Path> inheritable() throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fdinfo"))) {
      return all.filter(info -> Integer.parseInt(info.getFileName().toString()) > 3)
          .filter(DetachingTest::withoutCloseOnExec)
          .toList();
    }
  }

  private static boolean withoutCloseOnExec(Path info) {
    try {
      String flags =
          Files.readAllLines(info).stream()
              .filter(line -> line.startsWith("flags:"))
              .findFirst()
              .orElseThrow();
      return (Integer.parseInt(flags.substring("flags:".length()).strip(), 8) & 0x80000) == 0;
    } catch (IOException _) {
      return false; // closed meanwhile
    }
  }

  @Test
  void noSignalIsBlockedOrIgnored() throws Exception {
    assertThat(told("echo $(grep -E 'Sig(Blk|Ign)' /proc/$$/status) >&3"))
        .isEqualTo("SigBlk: 0000000000000000 SigIgn: 0000000000000000\n");
  }

  @Test
  void whatCannotBeRunIsNamed() throws Exception {
    Path plain = Files.writeString(directory.resolve("plain"), "x");
    assertThatThrownBy(() -> detaching.run(Command.of("/no/such/program-x"), soon))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("cannot run program-x")
        .hasMessageContaining("no such file");
    assertThatThrownBy(() -> detaching.run(Command.of(plain.toString()), soon))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("cannot run plain")
        .hasMessageContaining("permission denied");
    assertThatThrownBy(() -> detaching.run(Command.of("true").in(directory.resolve("none")), soon))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("cannot run true");
  }

  @Test
  void atTheDeadlineTheProgramAndItsChildrenAreKilled() throws Exception {
    killedAtItsDeadline("sleep 1000 & echo $! > pids; echo $$ >> pids; sleep 1000; true", 2);
    assertGone();
  }

  @Test
  void oneThatToldItsLineButDoesNotEndIsKilledToo() throws Exception {
    killedAtItsDeadline("echo $$ > pids; echo told >&3; exec sleep 1000", 1);
    assertGone();
  }

  /** With a deadline that lets it get so far on a machine that is busy. */
  private void killedAtItsDeadline(String script, int lines) throws Exception {
    Path pids = Files.createFile(directory.resolve("pids"));
    for (int seconds = 1; Files.readAllLines(pids).size() < lines; seconds *= 2) {
      Deadline deadline = Deadline.after(Duration.ofSeconds(seconds));
      assertThatThrownBy(() -> detaching.run(shell(script), deadline))
          .isInstanceOf(AgentException.Timeout.class)
          .hasMessageContaining("running sh");
      assertThat(seconds).as("seconds for a few lines of a shell").isLessThan(60);
    }
  }

  @Test
  void anInterruptKillsToo() {
    assertThatThrownBy(
            () -> {
              try (var scope = new TaskScope("interrupted")) {
                scope.fork(() -> detaching.run(shell("echo $$ > pids; sleep 1000"), soon));
                scope.fork(
                    () -> {
                      Path pids = directory.resolve("pids");
                      Awaitility.await().until(() -> Files.exists(pids) && Files.size(pids) > 0);
                      throw new IllegalStateException("stop the other");
                    });
                scope.join();
              }
            })
        .hasMessage("stop the other");
    assertGone();
  }

  @Test
  void nothingIsLeftOfOneThatEnded() throws Exception {
    String first = told("echo $$ >&3");
    long descriptors = descriptors();
    for (int i = 0; i < 5; i++) {
      assertThat(told("echo $$ >> pids; echo $$ >&3")).isNotEqualTo(first);
      assertThatThrownBy(() -> detaching.run(Command.of("/no/such/program-x"), soon))
          .isInstanceOf(IOException.class);
      assertThatThrownBy(
              () ->
                  detaching.run(
                      shell("echo $$ >> pids; exec sleep 1000"),
                      Deadline.after(Duration.ofMillis(100))))
          .isInstanceOf(AgentException.Timeout.class);
    }
    assertGone();
    Awaitility.await().until(() -> descriptors() <= descriptors);
  }

  @Test
  void manyWaitAtATimeOnFewThreads() throws Exception {
    Path started = Files.createDirectory(directory.resolve("started"));
    assertThat(Processes.run(shell("mkfifo go"), soon).code()).isZero();
    try (var scope = new TaskScope("many")) {
      for (int i = 0; i < MANY; i++) {
        scope.fork(
            () -> {
              assertThat(told("(: > started/$$; : < go; echo told >&3) & exit 0"))
                  .isEqualTo("told\n");
              return true;
            });
      }
      Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> count(started) == MANY);
      // for both, so that those who come late do not wait for another writer
      try (var _ = new RandomAccessFile(directory.resolve("go").toFile(), "rw")) {
        scope.join();
      }
    }
  }

  /** Not even a zombie, which nobody would have reaped. */
  private void assertGone() {
    Awaitility.await()
        .until(
            () -> {
              List<String> pids = Files.readAllLines(directory.resolve("pids"));
              assertThat(pids).isNotEmpty();
              return pids.stream().noneMatch(pid -> Files.exists(Path.of("/proc", pid)));
            });
  }

  private static long descriptors() throws IOException {
    return count(Path.of("/proc/self/fd"));
  }

  private static long count(Path directory) throws IOException {
    try (Stream<Path> all = Files.list(directory)) {
      return all.count();
    }
  }
}
