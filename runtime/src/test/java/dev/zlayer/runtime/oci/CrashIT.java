package dev.zlayer.runtime.oci;

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
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The agent dies at every step; the next one finishes or undoes it, and nothing is left. */
@Requires({Fact.ROOT, Fact.RUNC, Fact.VIEW, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.OVERLAYFS})
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class CrashIT {
  private Path directory;

  @BeforeAll
  void loadImage(@TempDir Path directory) throws Exception {
    this.directory = directory;
    RuntimeFixture.open(directory).close();
  }

  @AfterAll
  void tearDown() throws Exception {
    RuntimeFixture.open(directory).tearDown();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "create.recorded",
        "create.root",
        "create.network",
        "create.volumes",
        "create.bundle",
        "remove.recorded",
        "remove.processes",
        "remove.network",
        "remove.root",
        "remove.volumes",
        "remove.directory"
      })
  void whatIsHalfMadeOrHalfGoneGoes(String step) throws Exception {
    dieAt(step);
    try (RuntimeFixture fixture = RuntimeFixture.open(directory)) {
      assertThat(fixture.runtime.list()).isEmpty();
      assertThat(fixture.runtime.find(CrashAgent.ID)).isEmpty();
    }
    new Leaks(directory).assertNone();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "create.done",
        "start.recorded",
        "start.published",
        "start.prepared",
        "start.monitored",
        "start.created"
      })
  void whatDoesNotRunYetCanBeStarted(String step) throws Exception {
    dieAt(step);
    try (RuntimeFixture fixture = RuntimeFixture.open(directory)) {
      Container container = fixture.runtime.find(CrashAgent.ID).orElseThrow();
      assertThat(container.status()).isInstanceOf(ContainerStatus.Created.class);
      assertThat(container.ports()).isEmpty();
      container.start();
      assertThat(container.status()).isInstanceOf(ContainerStatus.Running.class);
      assertThat(container.ports()).hasSize(1);
      assertThat(Runs.exec(container, "ip", "addr")).contains("eth0");
      container.remove(true);
    }
    new Leaks(directory).assertNone();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "start.released",
        "start.started",
        "start.done",
        "exec.recorded",
        "exec.started",
        "stop.marked",
        "stop.signalled"
      })
  void whatRunsGoesOnAndItsEndBecomesKnown(String step) throws Exception {
    dieAt(step);
    try (RuntimeFixture fixture = RuntimeFixture.open(directory)) {
      Container container = fixture.runtime.find(CrashAgent.ID).orElseThrow();
      assertThat(container.status()).isInstanceOf(ContainerStatus.Running.class);
      assertThat(container.ip()).isPresent();
      assertThat(Runs.exec(container, "ps")).doesNotContain("sleep 4242");
      container.kill(Signal.KILL);
      assertThat(Runs.end(container)).isEqualTo(new ExitStatus.Signalled(Signal.KILL));
      container.remove(false);
    }
    new Leaks(directory).assertNone();
  }

  @ParameterizedTest
  @ValueSource(strings = {"stop.killed", "stop.done"})
  void anEndWithoutAnAgentIsNotForgotten(String step) throws Exception {
    dieAt(step);
    try (RuntimeFixture fixture = RuntimeFixture.open(directory)) {
      Container container = fixture.runtime.find(CrashAgent.ID).orElseThrow();
      var outcome =
          container.await(WaitCondition.NOT_RUNNING, Deadline.after(RuntimeFixture.TIMEOUT));
      assertThat(outcome.status()).isEqualTo(new ExitStatus.Signalled(Signal.KILL));
      assertThat(outcome.finishedAt()).isPresent();
      container.start();
      assertThat(container.status().alive()).isTrue();
      container.remove(true);
    }
    new Leaks(directory).assertNone();
  }

  private void dieAt(String step) throws InterruptedException {
    String java = ProcessHandle.current().info().command().orElseThrow();
    var command =
        List.of(
            java,
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            Optional.ofNullable(System.getProperty("surefire.test.class.path"))
                .orElse(System.getProperty("java.class.path")),
            CrashAgent.class.getName(),
            directory.toString(),
            step);
    CommandResult result =
        Processes.run(Command.of(command), Deadline.after(Duration.ofSeconds(60)));
    assertThat(result.code()).as("%s\n%s", step, result.stderr()).isEqualTo(CrashAgent.DIED);
  }
}
