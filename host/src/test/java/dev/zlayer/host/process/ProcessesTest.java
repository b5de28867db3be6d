package dev.zlayer.host.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ProcessesTest {
  private static final Deadline SOON = Deadline.after(Duration.ofSeconds(30));
  @TempDir Path directory;

  private static Command shell(String script) {
    return Command.of("sh", "-c", script);
  }

  @Test
  void tellsTheCodeAndBothStreams() throws Exception {
    CommandResult result = Processes.run(shell("echo out; echo err >&2; exit 7"), SOON);

    assertThat(result.code()).isEqualTo(7);
    assertThat(result.stdout()).isEqualTo("out\n");
    assertThat(result.stderr()).isEqualTo("err\n");
    assertThat(result.lastLine()).isEqualTo("err");
  }

  @Test
  void givesInputEnvironmentAndDirectory() throws Exception {
    Command command =
        shell("cat; printf '|%s|' \"$GREETING\"; pwd")
            .withInput("in".getBytes(StandardCharsets.UTF_8))
            .withEnv(Map.of("GREETING", "hello"))
            .in(directory);

    assertThat(Processes.run(command, SOON).stdout())
        .isEqualTo("in|hello|" + directory.toRealPath() + "\n");
  }

  @Test
  void keepsOutputUpToItsLimitAndDrainsTheRest() throws Exception {
    CommandResult result = Processes.run(shell("head -c 20000000 /dev/zero; exit 3"), SOON);

    assertThat(result.code()).isEqualTo(3);
    assertThat(result.stdoutBytes()).hasSize(4 << 20);
  }

  @Test
  void aProgramThatDoesNotReadItsInputIsFine() throws Exception {
    Command command = shell("exit 0").withInput(new byte[10_000_000]);

    assertThat(Processes.run(command, SOON).success()).isTrue();
  }

  @Test
  void atTheDeadlineTheProgramAndItsChildrenAreKilled() throws Exception {
    Path pids = directory.resolve("pids");
    Command command =
        shell("sleep 1000 & echo $! > " + pids + "; echo $$ >> " + pids + "; sleep 1000; true");

    assertThatThrownBy(() -> Processes.run(command, Deadline.after(Duration.ofSeconds(1))))
        .isInstanceOf(AgentException.Timeout.class)
        .hasMessageContaining("running sh");
    assertDead(pids);
  }

  @Test
  void anInterruptKillsToo() throws Exception {
    Path pids = directory.resolve("pids");
    assertThatThrownBy(
            () -> {
              try (var scope = new TaskScope("interrupted")) {
                scope.fork(() -> Processes.run(shell("echo $$ > " + pids + "; sleep 1000"), SOON));
                scope.fork(
                    () -> {
                      Awaitility.await().until(() -> Files.exists(pids) && Files.size(pids) > 0);
                      throw new IllegalStateException("stop the other");
                    });
                scope.join();
              }
            })
        .hasMessage("stop the other");
    assertDead(pids);
  }

  private static void assertDead(Path pids) throws Exception {
    assertThat(Files.readAllLines(pids)).isNotEmpty();
    for (String pid : Files.readAllLines(pids)) {
      Awaitility.await()
          .atMost(Duration.ofSeconds(10))
          .until(
              () -> ProcessHandle.of(Long.parseLong(pid)).filter(ProcessHandle::isAlive).isEmpty());
    }
  }

  @Test
  void aGrandchildThatKeepsThePipesOpenDoesNotHoldUsUp() throws Exception {
    CommandResult result = Processes.run(shell("sleep 300 & echo $!"), SOON);

    assertThat(result.code()).isZero();
    ProcessHandle.of(Long.parseLong(result.stdout().strip()))
        .ifPresent(ProcessHandle::destroyForcibly);
  }

  @Test
  void aMissingProgramIsNamed() {
    assertThatThrownBy(() -> Processes.run(Command.of("/no/such/program-x"), SOON))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("program-x");
  }

  @Test
  void checkTurnsAFailureIntoAnErrorWithTheLastLine() {
    assertThatThrownBy(() -> Processes.check(shell("echo why >&2; exit 4"), SOON))
        .isInstanceOf(AgentException.Internal.class)
        .hasMessage("sh exited with 4: why");
  }
}
