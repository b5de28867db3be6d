package dev.zlayer.host.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ProcessesTest {
  @TempDir Path directory;

  /** For one program, not for all tests together. */
  private static Deadline soon() {
    return Deadline.after(Duration.ofSeconds(30));
  }

  private static Command shell(String script) {
    return Command.of("sh", "-c", script);
  }

  @Test
  void tellsTheCodeAndBothStreams() throws Exception {
    CommandResult result = Processes.run(shell("echo out; echo err >&2; exit 7"), soon());

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

    assertThat(Processes.run(command, soon()).stdout())
        .isEqualTo("in|hello|" + directory.toRealPath() + "\n");
  }

  @Test
  void keepsOutputUpToItsLimitAndDrainsTheRest() throws Exception {
    CommandResult result = Processes.run(shell("head -c 20000000 /dev/zero; exit 3"), soon());

    assertThat(result.code()).isEqualTo(3);
    assertThat(result.stdoutBytes()).hasSize(4 << 20);
  }

  @Test
  void aProgramThatDoesNotReadItsInputIsFine() throws Exception {
    Command command = shell("exit 0").withInput(new byte[10_000_000]);

    assertThat(Processes.run(command, soon()).success()).isTrue();
  }

  @Test
  void atTheDeadlineTheProgramAndItsChildrenAreKilled() throws Exception {
    Path pids = directory.resolve("pids");
    Command command =
        shell("sleep 1000 & echo $! > " + pids + "; echo $$ >> " + pids + "; sleep 1000; true");

    Files.createFile(pids);
    // on a busy machine it may be killed before it has written anything
    for (int seconds = 1; Files.readAllLines(pids).size() < 2; seconds *= 2) {
      Deadline deadline = Deadline.after(Duration.ofSeconds(seconds));
      assertThatThrownBy(() -> Processes.run(command, deadline))
          .isInstanceOf(AgentException.Timeout.class)
          .hasMessageContaining("running sh");
      assertThat(seconds).as("seconds for a few lines of a shell").isLessThan(30);
    }
    assertDead(pids);
  }

  @Test
  void anInterruptKillsToo() throws Exception {
    Path pids = directory.resolve("pids");
    assertThatThrownBy(
            () -> {
              try (var scope = new TaskScope("interrupted")) {
                scope.fork(
                    () -> Processes.run(shell("echo $$ > " + pids + "; sleep 1000"), soon()));
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
          .until(
              () -> ProcessHandle.of(Long.parseLong(pid)).filter(ProcessHandle::isAlive).isEmpty());
    }
  }

  @Test
  void aGrandchildThatKeepsThePipesOpenDoesNotHoldUsUp() throws Exception {
    CommandResult result = Processes.run(shell("sleep 300 & echo $!"), soon());

    assertThat(result.code()).isZero();
    ProcessHandle.of(Long.parseLong(result.stdout().strip()))
        .ifPresent(ProcessHandle::destroyForcibly);
  }

  @Test
  void aGrandchildThatPrintsForEverDoesNotHoldUsUp() throws Exception {
    Path pid = directory.resolve("pid");
    CommandResult result = Processes.run(shell("yes & echo $! > " + pid + "; exit 5"), soon());

    assertThat(result.code()).isEqualTo(5);
    assertDead(pid); // nobody reads what it prints any more
  }

  @Test
  void whatAGrandchildPrintsSoonAfterTheEndIsKept() throws Exception {
    CommandResult result = Processes.run(shell("(sleep 0.1; echo late) & echo early"), soon());

    assertThat(result.stdout()).isEqualTo("early\nlate\n");
  }

  @Test
  void nothingIsLeftOfAProgramThatHasEnded() throws Exception {
    String pid = Processes.run(shell("echo $$"), soon()).stdout().strip();

    assertThat(Path.of("/proc", pid)).doesNotExist();
  }

  @Test
  void aSignalThatEndedItIsToldAsAShellDoes() throws Exception {
    assertThat(Processes.run(shell("kill -9 $$"), soon()).code()).isEqualTo(137);
  }

  @Test
  void aScriptThatDoesNotSayWhoseItIsIsOneOfTheShell() throws Exception {
    Path script = Files.writeString(directory.resolve("script"), "echo of $0; exit 3\n");
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));

    CommandResult result = Processes.run(Command.of(script.toString()), soon());
    assertThat(result.code()).isEqualTo(3);
    assertThat(result.stdout()).isEqualTo("of " + script + "\n");
  }

  @Test
  void manyProgramsAtOnceAreToldApart() throws Exception {
    var codes = new ArrayList<TaskScope.Task<Integer>>();
    try (var scope = new TaskScope("many")) {
      for (int i = 0; i < 40; i++) {
        int code = i;
        codes.add(scope.fork(() -> Processes.run(shell("cat; exit " + code), soon()).code()));
      }
      scope.join();
    }
    assertThat(codes).extracting(TaskScope.Task::result).isSorted().hasSize(40).endsWith(39);
  }

  @Test
  void aMissingProgramIsNamed() {
    assertThatThrownBy(() -> Processes.run(Command.of("/no/such/program-x"), soon()))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("program-x");
  }

  @Test
  void checkTurnsAFailureIntoAnErrorWithTheLastLine() {
    assertThatThrownBy(() -> Processes.check(shell("echo why >&2; exit 4"), soon()))
        .isInstanceOf(AgentException.Internal.class)
        .hasMessage("sh exited with 4: why");
  }
}
