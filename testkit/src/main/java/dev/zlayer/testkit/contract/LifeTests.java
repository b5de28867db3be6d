package dev.zlayer.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ContainerStatus.Phase;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.task.TaskScope;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** From create to remove. */
interface LifeTests extends Harness {
  @Test
  default void livesFromCreateToRemove() throws InterruptedException {
    Container container = created(Workload.sleepsForever());
    assertThat(container.status()).isEqualTo(new ContainerStatus.Created());
    assertThat(container.pid()).isEmpty();
    assertThat(current().find(container.id())).isPresent();

    container.start();
    assertThat(phase(container)).isEqualTo(Phase.RUNNING);
    var running = (ContainerStatus.Running) container.status();
    assertThat(container.pid()).isEqualTo(running.pid());
    assertThat(container.inspect().status()).isEqualTo(running);

    container.kill(Signal.KILL);
    var outcome = ended(container);
    assertThat(container.status()).isEqualTo(new ContainerStatus.Exited(outcome));
    assertThat(outcome.startedAt()).contains(running.startedAt());
    assertThat(outcome.finishedAt().orElseThrow()).isAfterOrEqualTo(running.startedAt());
    assertThat(container.pid()).isEmpty();

    container.remove(false);
    assertThat(phase(container)).isEqualTo(Phase.REMOVED);
    assertThat(current().find(container.id())).isEmpty();
    assertThat(current().list()).extracting(Container::id).doesNotContain(container.id());
  }

  @Test
  default void keepsLabelsAndSpec() throws InterruptedException {
    var labels = Map.of("team", "späti", "empty", "", "dev.zlayer/x", "a=b\nc");
    Container container = labelled(Workload.sleepsForever(), labels);
    Container found = current().find(container.id()).orElseThrow();
    assertThat(found.spec().labels()).containsAllEntriesOf(labels);
    assertThat(found.spec()).isEqualTo(container.spec());
    assertThat(found.inspect().spec()).isEqualTo(container.spec());
    assertThat(found.id()).isEqualTo(container.id());
  }

  @Test
  default void startingARunningOneDoesNothing() throws InterruptedException {
    Container container = started(Workload.sleepsForever());
    var before = container.status();
    container.start();
    assertThat(container.status()).isEqualTo(before);
  }

  @Test
  default void aSecondCreateIsRefusedAndTheFirstStaysAsItIs() throws InterruptedException {
    Container first = started(Workload.sleepsForever());
    ContainerStatus before = first.status();
    ContainerSpec other = spec(Workload.exitsWith(1));
    assertThatThrownBy(() -> current().create(first.id(), other))
        .isInstanceOf(AgentException.Conflict.class);
    assertThat(first.status()).isEqualTo(before);
    Container found = current().find(first.id()).orElseThrow();
    assertThat(found.spec()).isEqualTo(first.spec()).isNotEqualTo(other);
  }

  @Test
  default void identitiesThatDifferInOneFieldAreDifferentContainers() throws InterruptedException {
    Container first = created(Workload.exitsWith(0));
    ContainerId next = first.id().withGeneration(1);
    Container second = current().create(next, spec(Workload.exitsWith(0)));
    try {
      first.remove(false);
      assertThat(current().find(next)).isPresent();
    } finally {
      second.remove(true);
    }
  }

  @Test
  default void anImageThatIsNotThereIsNotFound() {
    var id = newId();
    var spec = ContainerSpec.of(ImageRef.parse("registry.invalid/not/there:v1"));
    assertThatThrownBy(() -> current().create(id, spec))
        .isInstanceOf(AgentException.NotFound.class);
    assertThat(current().find(id)).isEmpty();
  }

  /** A runtime may learn of it at either step; what it leaves behind has to fit. */
  @Test
  default void aProgramThatIsNotThereFailsToStart() throws InterruptedException {
    var id = newId();
    Container container;
    try {
      container = current().create(id, unstartable());
    } catch (AgentException.CreateFailed _) {
      assertThat(current().find(id)).isEmpty();
      return;
    }
    assertThatThrownBy(container::start).isInstanceOf(AgentException.StartFailed.class);
    assertThat(container.status())
        .isInstanceOfSatisfying(
            ContainerStatus.Exited.class,
            exited ->
                assertThat(exited.outcome().status()).isInstanceOf(ExitStatus.RuntimeError.class));
    container.remove(false);
  }

  @Test
  default void anEndedOneRunsAgain() throws InterruptedException {
    Container container = started(Workload.exitsWith(3));
    var first = ended(container);
    container.start();
    var second = ended(container);
    assertThat(code(second)).hasValue(3);
    assertThat(second.startedAt().orElseThrow()).isAfterOrEqualTo(first.finishedAt().orElseThrow());
    assertThat(container.inspect().restarts()).isEqualTo(1);
  }

  @Test
  default void anEndedOneKeepsItsFilesWhenItRunsAgain() throws InterruptedException {
    needsRealShell();
    Container container = started(Workload.runs("[ -e /mark ] && exit 9; echo x >/mark; exit 8"));
    assertThat(code(ended(container))).hasValue(8);
    container.start();
    assertThat(code(ended(container))).hasValue(9);
  }

  @Test
  default void removingIsRefusedWhileItRuns() throws InterruptedException {
    Container container = started(Workload.sleepsForever());
    assertThatThrownBy(() -> container.remove(false)).isInstanceOf(AgentException.Conflict.class);
    assertThat(phase(container)).isEqualTo(Phase.RUNNING);
    container.remove(true);
    assertThat(phase(container)).isEqualTo(Phase.REMOVED);
    container.remove(true);
    container.remove(false);
  }

  @Test
  default void oneThatNeverRanCanBeRemoved() throws InterruptedException {
    Container container = created(Workload.sleepsForever());
    container.remove(false);
    assertThat(current().find(container.id())).isEmpty();
  }

  @Test
  default void nothingButStatusAwaitAndRemoveWorksAfterRemoval() throws InterruptedException {
    Container container = started(Workload.sleepsForever());
    container.remove(true);
    List<ThrowingCallable> operations =
        List.of(
            container::start,
            () -> container.stop(Duration.ZERO),
            () -> container.kill(Signal.KILL),
            container::inspect,
            () -> container.logs(LogQuery.ALL),
            () -> container.exec(ExecSpec.of("true")),
            container::stats,
            container::pid,
            container::ip,
            container::ports);
    for (int i = 0; i < operations.size(); i++) {
      assertThatThrownBy(operations.get(i))
          .as("operation %d of the list", i)
          .isInstanceOf(AgentException.NotFound.class);
    }
  }

  @Test
  default void anIdentityCanBeUsedAgainAfterRemoval() throws InterruptedException {
    Container first = started(Workload.exitsWith(1));
    ended(first);
    first.remove(false);
    Container second = current().create(first.id(), spec(Workload.prints("new")));
    assertThat(phase(second)).isEqualTo(Phase.CREATED);
    second.start();
    assertThat(code(ended(second))).hasValue(0);
    assertThat(lines(second, LogQuery.ALL)).containsExactly("new");
  }

  @Test
  default void manyLiveSideBySide() throws InterruptedException {
    try (var scope = new TaskScope("side-by-side")) {
      for (int code = 0; code < 8; code++) {
        int expected = code;
        scope.fork(
            () -> {
              Container container = started(Workload.exitsWith(expected));
              assertThat(code(ended(container))).hasValue(expected);
              container.remove(false);
              return container;
            });
      }
      scope.join();
    }
  }

  @Test
  default void statsAreSane() throws InterruptedException {
    Container container = ready(Workload.sleepsForever());
    var first = container.stats();
    assertThat(first.pids()).isPositive();
    assertThat(first.memoryBytes()).isPositive();
    assertThat(first.cpuNanos()).isPositive();
    assertThat(first.time())
        .isAfterOrEqualTo(((ContainerStatus.Running) container.status()).startedAt());
    var second = container.stats();
    assertThat(second.cpuNanos()).isGreaterThanOrEqualTo(first.cpuNanos());
    assertThat(second.time()).isAfterOrEqualTo(first.time());
  }
}
