package dev.zlayer.runtime.wsl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.wsl.StandInWsl;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The agent dies between two steps; the next one finishes or undoes it, and nothing is left. */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.BUSYBOX, Fact.OVERLAYFS},
    programs = {"unshare", "nsenter", "iconv"})
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WslCrashIT {
  private StandInWsl wsl;

  @BeforeAll
  void open(@TempDir Path directory) {
    wsl = StandInWsl.open(directory);
  }

  @AfterAll
  void close() throws Exception {
    try (var _ = wsl) {
      WslStage.open(wsl).tearDown();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"create.recorded", "create.root", "remove.processes", "remove.root"})
  void whatIsHalfMadeOrHalfGoneGoes(String step) throws Exception {
    dieAt(step);
    try (WslStage fixture = WslStage.open(wsl)) {
      assertThat(fixture.runtime.list()).isEmpty();
    }
    WslStage.assertNothingLeft(wsl);
  }

  @ParameterizedTest
  @ValueSource(strings = {"start.prepared", "start.monitored", "start.created"})
  void whatDoesNotRunYetCanBeStarted(String step) throws Exception {
    dieAt(step);
    try (WslStage fixture = WslStage.open(wsl)) {
      Container container = fixture.runtime.find(WslAgent.ID).orElseThrow();
      assertThat(container.status()).isInstanceOf(ContainerStatus.Created.class);
      container.start();
      assertThat(container.status()).isInstanceOf(ContainerStatus.Running.class);
      container.remove(true);
    }
    WslStage.assertNothingLeft(wsl);
  }

  @ParameterizedTest
  @ValueSource(strings = {"start.started", "exec.started", "stop.signalled"})
  void whatRunsGoesOnAndItsEndBecomesKnown(String step) throws Exception {
    dieAt(step);
    try (WslStage fixture = WslStage.open(wsl)) {
      Container container = fixture.runtime.find(WslAgent.ID).orElseThrow();
      assertThat(container.status()).isInstanceOf(ContainerStatus.Running.class);
      Awaitility.await("what was run by the agent that is no more")
          .atMost(WslStage.TIMEOUT)
          .until(() -> !wsl.inside("ps -eo args").contains("sleep 4242"));
      container.kill(Signal.KILL);
      assertThat(
              container.await(WaitCondition.NOT_RUNNING, Deadline.after(WslStage.TIMEOUT)).status())
          .isEqualTo(new ExitStatus.Signalled(Signal.KILL));
      container.remove(false);
    }
    WslStage.assertNothingLeft(wsl);
  }

  private void dieAt(String step) throws InterruptedException {
    var command =
        List.of(
            ProcessHandle.current().info().command().orElseThrow(),
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            Optional.ofNullable(System.getProperty("surefire.test.class.path"))
                .orElse(System.getProperty("java.class.path")),
            WslAgent.class.getName(),
            wsl.program().toString(),
            wsl.windows().toString(),
            step);
    CommandResult result = Processes.run(Command.of(command), Deadline.after(WslStage.TIMEOUT));
    assertThat(result.code()).as("%s\n%s", step, result.stderr()).isEqualTo(WslAgent.DIED);
  }
}
