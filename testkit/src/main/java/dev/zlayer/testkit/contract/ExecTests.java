package dev.zlayer.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Further processes inside. */
interface ExecTests extends Harness {
  /** How an exec ended and what it printed. */
  record Ended(OptionalInt code, String stdout, String stderr) {}

  @Test
  default void execTellsOutputAndExitCode() throws Exception {
    needsRealShell();
    Container container = started(Workload.sleepsForever());
    assertThat(run(container, script("echo out; echo err >&2; exit 3")))
        .isEqualTo(new Ended(OptionalInt.of(3), "out\n", "err\n"));
  }

  @Test
  default void execReadsItsInputToTheEnd() throws Exception {
    needsRealShell();
    Container container = started(Workload.sleepsForever());
    try (var session = container.exec(script("cat; echo done").withStdin())) {
      try (var stdin = session.stdin()) {
        stdin.write("hello\n".getBytes(StandardCharsets.UTF_8));
      }
      assertThat(session.stdout().readAllBytes()).asString().isEqualTo("hello\ndone\n");
      assertThat(code(session.await(patience()))).hasValue(0);
    }
  }

  @Test
  default void withoutStdinTheInputIsEmpty() throws Exception {
    needsRealShell();
    Container container = started(Workload.sleepsForever());
    assertThat(run(container, script("cat; echo done")).stdout()).isEqualTo("done\n");
  }

  @Test
  default void aCommandThatCannotRunEndsWith127Or126() throws Exception {
    needsRealShell();
    Container container = started(Workload.sleepsForever());
    assertThat(run(container, ExecSpec.of("/no/such/program")).code()).hasValue(127);
    assertThat(run(container, ExecSpec.of("/etc/passwd")).code()).hasValue(126);
  }

  @Test
  default void execHonoursEnvWorkdirAndUser() throws Exception {
    needsRealShell();
    Container container = started(Workload.sleepsForever());
    var spec =
        script("echo $A; pwd; id -u; id -g")
            .withEnv(Map.of("A", "b c"))
            .withWorkdir("/tmp")
            .withUser("1000:1000");
    assertThat(run(container, spec).stdout()).isEqualTo("b c\n/tmp\n1000\n1000\n");
  }

  @Test
  default void execNeedsARunningContainer() throws InterruptedException {
    Container container = created(Workload.exitsWith(0));
    assertThatThrownBy(() -> container.exec(ExecSpec.of("true")))
        .isInstanceOf(AgentException.Conflict.class);
    container.start();
    ended(container);
    assertThatThrownBy(() -> container.exec(ExecSpec.of("true")))
        .isInstanceOf(AgentException.Conflict.class);
  }

  @Test
  default void execsRunSideBySide() throws Exception {
    needsRealShell();
    Container container = started(Workload.sleepsForever());
    try (var scope = new TaskScope("execs")) {
      for (int i = 0; i < 5; i++) {
        int code = i;
        scope.fork(
            () -> {
              assertThat(run(container, script("echo " + code + "; exit " + code)))
                  .isEqualTo(new Ended(OptionalInt.of(code), code + "\n", ""));
              return code;
            });
      }
      scope.join();
    }
  }

  @Test
  default void theDeadlineOfAWaitLeavesTheProcess() throws Exception {
    needsRealShell();
    Container container = started(Workload.sleepsForever());
    try (var session = container.exec(script("read x; exit 4").withStdin())) {
      assertThatThrownBy(() -> session.await(Deadline.after(Duration.ofMillis(100))))
          .isInstanceOf(AgentException.Timeout.class);
      try (var stdin = session.stdin()) {
        stdin.write('\n');
      }
      assertThat(code(session.await(patience()))).hasValue(4);
    }
  }

  @Test
  default void anExecEndsWithItsContainer() throws Exception {
    needsRealShell();
    Container container = started(Workload.sleepsForever());
    try (var session = container.exec(script("echo up; sleep 1000"))) {
      assertThat(session.stdout().read()).isEqualTo('u');
      container.kill(Signal.KILL);
      var status = session.await(patience());
      assertThat(status.success()).isFalse();
    }
  }

  @Test
  default void closingASessionEndsItsProcess() throws Exception {
    needsRealShell();
    Container container = started(Workload.sleepsForever());
    try (var session = container.exec(script("echo $$; exec sleep 4321"))) {
      assertThat(session.stdout().read()).isPositive();
    }
    Awaitility.await()
        .atMost(TIMEOUT)
        .until(() -> !run(container, ExecSpec.of("ps")).stdout().contains("sleep 4321"));
    assertThat(container.status().alive()).isTrue();
  }

  @Test
  default void aCommandEndsAlthoughWhatItLeavesKeepsItsOutput() throws Exception {
    needsRealShell();
    Assumptions.assumeTrue(
        endsOutputWithCommands(), "others decide when the output of a command ends");
    Container container = started(Workload.sleepsForever());
    assertThat(run(container, script("echo out; echo err >&2; sleep 4322 & exit 3")))
        .isEqualTo(new Ended(OptionalInt.of(3), "out\n", "err\n"));
    assertThat(run(container, script("yes & exit 4")).code()).hasValue(4);
  }

  private ExecSpec script(String script) {
    return new ExecSpec(
        List.of(shellCommand(script)),
        Map.of(),
        Optional.empty(),
        Optional.empty(),
        false,
        false,
        false,
        Optional.empty());
  }

  /** Both streams are read at the same time, so that neither can fill up. */
  private Ended run(Container container, ExecSpec spec) throws InterruptedException {
    try (ExecSession session = container.exec(spec);
        var scope = new TaskScope("exec")) {
      var stdout = scope.fork(() -> session.stdout().readAllBytes());
      var stderr = scope.fork(() -> session.stderr().readAllBytes());
      var status = session.await(patience());
      scope.join();
      return new Ended(
          code(status),
          new String(stdout.result(), StandardCharsets.UTF_8),
          new String(stderr.result(), StandardCharsets.UTF_8));
    }
  }
}
