package dev.zlayer.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.Signal;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The scripts do in a plain shell what the words say. */
class WorkloadTest {
  @Test
  void exitsWithItsCode() throws InterruptedException {
    assertThat(run(Workload.exitsWith(42)).code()).isEqualTo(42);
    assertThat(run(Workload.exitsWith(3).after(Duration.ofMillis(30))).code()).isEqualTo(3);
    assertThat(run(Workload.runs("exit 5")).code()).isEqualTo(5);
  }

  @Test
  void printsOnBothStreamsWhateverTheCharacters() throws InterruptedException {
    CommandResult result = run(Workload.prints("it's 100% \\n $HOME", "stderr:no `echo`", ""));
    assertThat(result.stdout()).isEqualTo("it's 100% \\n $HOME\n\n");
    assertThat(result.stderr()).isEqualTo("no `echo`\n");
    assertThat(result.code()).isZero();
  }

  @Test
  void endsOnItsSignal() throws Exception {
    assertThat(terminated(Workload.endsOn(Signal.TERM, 9))).isEqualTo(9);
  }

  @Test
  void sleepsUntilKilledAndIgnoresTermWhenTold() throws Exception {
    Process process = start(Workload.ignoresTerm());
    try {
      process.destroy();
      assertThat(process.waitFor(200, TimeUnit.MILLISECONDS)).isFalse();
    } finally {
      end(process);
    }
    assertThat(process.waitFor()).isEqualTo(128 + 9);
  }

  private static int terminated(Workload workload) throws Exception {
    Process process = start(workload);
    try {
      process.destroy();
      assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
      return process.exitValue();
    } finally {
      end(process);
    }
  }

  /** The shell first, or it would go on with its loop. */
  private static void end(Process process) {
    var children = process.descendants().toList();
    process.destroyForcibly();
    children.forEach(ProcessHandle::destroyForcibly);
  }

  private static Process start(Workload workload) throws IOException {
    Process process = Processes.start(Command.of("sh", "-c", workload.printing("ready").script()));
    assertThat(process.getInputStream().readNBytes(6)).asString().isEqualTo("ready\n");
    return process;
  }

  private static CommandResult run(Workload workload) throws InterruptedException {
    return Processes.run(
        Command.of("sh", "-c", workload.script()), Deadline.after(Duration.ofSeconds(20)));
  }
}
