package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.container.Signal;
import dev.zlayer.container.StopSpec;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.port.Renamable;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

class LifeCycleIT extends OnStage {
  @Test
  void aProcessRunsAndItsEndIsKnown() throws Exception {
    Instant before = Instant.now().minusMillis(10);
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.script("echo out; echo err >&2; exit 3").withLabels(Map.of("a", "b")));
    assertThat(container.status()).isInstanceOf(ContainerStatus.Created.class);
    assertThat(container.await(WaitCondition.NOT_RUNNING, soon()).status())
        .isInstanceOf(ExitStatus.Unknown.class);
    container.start();
    Outcome outcome = container.await(WaitCondition.NOT_RUNNING, soon());
    assertThat(outcome.status()).isEqualTo(new ExitStatus.Code(3));
    assertThat(outcome.startedAt().orElseThrow()).isAfter(before);
    assertThat(outcome.finishedAt().orElseThrow()).isAfter(before);
    assertThat(RuntimeFixture.text(container)).contains("out", "err");
    assertThat(container.inspect().spec().labels()).containsEntry("a", "b");
    assertThat(container.inspect().command()).startsWith("sh", "-c");
    container.remove(false);
    container.remove(false);
    assertThat(container.status()).isInstanceOf(ContainerStatus.Removed.class);
    assertThatThrownBy(container::start).isInstanceOf(AgentException.NotFound.class);
    assertThat(fixture.runtime.find(container.id())).isEmpty();
  }

  @Test
  void aHighExitCodeIsToldFromASignal() throws Exception {
    Assumptions.assumeTrue(
        Machine.kernel().matches("(6\\.(1[5-9]|[2-9]\\d)|[7-9]|\\d\\d).*"),
        "this kernel does not keep how a process ended");
    Container container =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.script("exit 137"));
    container.start();
    assertThat(Runs.end(container)).isEqualTo(new ExitStatus.Code(137));
    container.remove(false);
    Container killed =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec("sleep", "300"));
    killed.start();
    killed.kill(Signal.KILL);
    assertThat(Runs.end(killed)).isEqualTo(new ExitStatus.Signalled(Signal.KILL));
    killed.remove(false);
  }

  @Test
  void stopSendsTheSignalAndWaitsForDeath() throws Exception {
    Container polite =
        started("trap 'exit 4' USR1; echo set; while true; do sleep 0.05; done", "USR1");
    Awaitility.await().until(() -> RuntimeFixture.text(polite).equals("set"));
    assertThat(polite.stop(Duration.ofSeconds(20)).orElseThrow().status())
        .isEqualTo(new ExitStatus.Code(4));
    assertThat(polite.stop(Duration.ZERO)).isPresent();
    polite.remove(false);

    Container stubborn = started("trap '' TERM; while true; do sleep 0.05; done", "TERM");
    long pid = stubborn.pid().orElseThrow();
    assertThat(stubborn.stop(Duration.ofMillis(50)).orElseThrow().status())
        .isEqualTo(new ExitStatus.Signalled(Signal.KILL));
    assertThat(ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false)).isFalse();
    stubborn.remove(false);
  }

  /**
   * Right after the start the first process still is the OCI runtime, which would act on the signal
   * itself: runc, written in Go, exits with 2.
   */
  @Test
  void aSignalRightAfterTheStartReachesTheProgram() throws Exception {
    SecuritySpec defaults = SecuritySpec.DEFAULT;
    // with no_new_privileges runc loads the seccomp filter last, which takes milliseconds
    SecuritySpec slow =
        new SecuritySpec(
            defaults.addCapabilities(),
            defaults.dropCapabilities(),
            defaults.seccomp(),
            true,
            defaults.privileged(),
            defaults.pid(),
            defaults.ipc(),
            defaults.sysctls(),
            defaults.devices());
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(), RuntimeFixture.spec("sleep", "300").withSecurity(slow));
    for (int round = 0; round < 15; round++) {
      container.start();
      container.kill(Signal.TERM); // ignored by a first process without a handler for it
      assertThat(container.stop(Duration.ZERO).orElseThrow().status())
          .isEqualTo(new ExitStatus.Signalled(Signal.KILL));
    }
    container.remove(false);
  }

  @Test
  void aContainerThatNeverRanHasNothingToStop() throws Exception {
    Container container = fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec("true"));
    assertThat(container.stop(Duration.ZERO)).isEmpty();
    assertThatThrownBy(() -> container.kill(Signal.TERM))
        .isInstanceOf(AgentException.Conflict.class);
    container.remove(false);
  }

  @Test
  void anySignalCanBeSent() throws Exception {
    Container container =
        started("trap 'exit 9' HUP; echo set; while true; do sleep 0.05; done", "TERM");
    Awaitility.await().until(() -> RuntimeFixture.text(container).equals("set"));
    container.kill(Signal.parse("SIGHUP"));
    assertThat(Runs.end(container)).isEqualTo(new ExitStatus.Code(9));
    container.remove(false);
  }

  @Test
  void whatRunsIsOnlyRemovedByForce() throws Exception {
    Container container = started("sleep 300", "TERM");
    container.start();
    assertThatThrownBy(() -> container.remove(false))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("is running");
    container.remove(true);
    assertThat(container.await(WaitCondition.REMOVED, soon()).status())
        .isEqualTo(new ExitStatus.Signalled(Signal.KILL));
  }

  @Test
  void itRunsAgainOnTheSameFiles() throws Exception {
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.script("cat /count; echo x >> /count; wc -l < /count"));
    for (int run = 1; run <= 3; run++) {
      container.start();
      Runs.end(container);
    }
    assertThat(RuntimeFixture.text(container)).endsWith("x\nx\n3");
    assertThat(container.inspect().restarts()).isEqualTo(2);
    container.remove(false);
  }

  @Test
  void awaitingTheNextExitSkipsTheLast() throws Exception {
    Container container =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.script("exit 1"));
    container.start();
    Runs.end(container);
    try (var scope = new TaskScope("await")) {
      var next = scope.fork(() -> container.await(WaitCondition.NEXT_EXIT, soon()));
      var gone = scope.fork(() -> container.await(WaitCondition.REMOVED, soon()));
      assertThatThrownBy(
              () -> container.await(WaitCondition.NEXT_EXIT, Deadline.after(Duration.ofMillis(20))))
          .isInstanceOf(AgentException.Timeout.class);
      container.start();
      Runs.end(container);
      container.remove(false);
      scope.join();
      assertThat(next.result().status()).isEqualTo(new ExitStatus.Code(1));
      assertThat(gone.result().status()).isEqualTo(new ExitStatus.Code(1));
    }
  }

  @Test
  void pausedProcessesStandStill() throws Exception {
    Container container =
        started("i=0; while true; do i=$((i+1)); echo $i > /n; sleep 0.02; done", "KILL");
    Awaitility.await().until(() -> !Runs.exec(container, "cat", "/n").isEmpty());
    var pausable = (Pausable) container;
    pausable.pause();
    pausable.pause();
    assertThat(container.status()).isInstanceOf(ContainerStatus.Paused.class);
    assertThatThrownBy(() -> container.exec(ExecSpec.of("true")))
        .isInstanceOf(AgentException.Conflict.class);
    pausable.unpause();
    pausable.unpause();
    assertThat(container.status()).isInstanceOf(ContainerStatus.Running.class);
    assertThat(Runs.exec(container, "true")).isEmpty();
    pausable.pause();
    assertThat(container.stop(Duration.ofSeconds(5)).orElseThrow().status())
        .isEqualTo(new ExitStatus.Signalled(Signal.KILL));
    container.remove(false);
  }

  @Test
  void namesForPeopleAreUnique() throws Exception {
    Container one = fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec("true"));
    Container two = fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec("true"));
    ((Renamable) one).rename("nice");
    assertThat(one.inspect().name()).isEqualTo("nice");
    assertThatThrownBy(() -> ((Renamable) two).rename("nice"))
        .isInstanceOf(AgentException.Conflict.class);
    assertThatThrownBy(() -> ((Renamable) two).rename("not nice"))
        .isInstanceOf(AgentException.InvalidSpec.class);
    one.remove(false);
    two.remove(false);
  }

  @Test
  void anIdentityIsUsedOnce() throws Exception {
    ContainerId id = RuntimeFixture.id();
    Container first = fixture.runtime.create(id, RuntimeFixture.spec("true"));
    assertThatThrownBy(() -> fixture.runtime.create(id, RuntimeFixture.spec("true")))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("exists already");
    assertThat(first.status()).isInstanceOf(ContainerStatus.Created.class);
    first.remove(false);
  }

  @Test
  void aMissingImageIsNotPulled() {
    var spec = dev.zlayer.container.ContainerSpec.of(ImageRef.parse("localhost/no/such:image"));
    assertThatThrownBy(() -> fixture.runtime.create(RuntimeFixture.id(), spec))
        .isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void processesAreListed() throws Exception {
    Container container = started("sleep 299 & sleep 300", "KILL");
    Awaitility.await()
        .untilAsserted(
            () ->
                assertThat(((ProcessListing) container).processes().rows().toString())
                    .contains("sleep 299", "sleep 300"));
    container.remove(true);
  }

  @Test
  void aFollowerSeesAllAndEndsWithTheContainer() throws Exception {
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.script("for i in 1 2 3; do echo $i; sleep 0.05; done"));
    try (var scope = new TaskScope("follow")) {
      var lines =
          scope.fork(
              () -> {
                int count = 0;
                try (var reader = container.logs(LogQuery.ALL.following())) {
                  while (reader.next().isPresent()) {
                    count++;
                  }
                }
                return count;
              });
      container.start();
      scope.join();
      assertThat(lines.result()).isEqualTo(3);
    }
    container.remove(true);
  }

  @Test
  void aMurderedMonitorLeavesAnUnknownOutcomeAndNoProcess() throws Exception {
    Container container = started("sleep 300", "TERM");
    long pid = container.pid().orElseThrow();
    fixture.dirs.container(container.id().runtimeName());
    String monitor =
        java.nio.file.Files.readString(
            fixture.dirs.container(container.id().runtimeName()).monitorPid());
    ProcessHandle.of(Long.parseLong(monitor.strip())).orElseThrow().destroyForcibly();
    assertThat(Runs.end(container)).isInstanceOf(ExitStatus.Unknown.class);
    Awaitility.await()
        .until(() -> !ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false));
    container.start();
    assertThat(container.status().alive()).isTrue();
    container.remove(true);
  }

  private Container started(String script, String stopSignal) throws InterruptedException {
    var stop = new StopSpec(Optional.of(Signal.parse(stopSignal)), Duration.ofSeconds(5));
    Container container =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.script(script).withStop(stop));
    container.start();
    return container;
  }

  private static Deadline soon() {
    return Deadline.after(RuntimeFixture.TIMEOUT);
  }
}
