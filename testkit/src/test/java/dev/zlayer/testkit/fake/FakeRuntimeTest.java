package dev.zlayer.testkit.fake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus.Phase;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Container;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.PruneFilter;
import dev.zlayer.port.PullRequest;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.FakeClock;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class FakeRuntimeTest {
  private static final ImageRef IMAGE = ImageRef.parse("fake:v1");
  private static final ContainerId ID = ContainerId.of("web", "app", 1);

  private final FakeClock clock = new FakeClock();
  private final FakeWorld world = new FakeWorld(clock);
  private final FakeRuntime runtime = new FakeRuntime(world);

  FakeRuntimeTest() {
    world.images().add(IMAGE);
  }

  private Container created(String... labels) {
    return runtime.create(ID, spec(labels));
  }

  private static ContainerSpec spec(String... labels) {
    var map = new java.util.HashMap<String, String>();
    for (int i = 0; i < labels.length; i += 2) {
      map.put(labels[i], labels[i + 1]);
    }
    return ContainerSpec.of(IMAGE).withLabels(map);
  }

  private static ExitStatus ended(Container container) throws InterruptedException {
    return container
        .await(WaitCondition.NOT_RUNNING, Deadline.after(Duration.ofSeconds(20)))
        .status();
  }

  @Test
  void endsWhenTheClockSaysSo() throws InterruptedException {
    Container container = created("fake.exit", "3", "fake.after", "5s");
    container.start();
    clock.advance(Duration.ofMillis(4999));
    assertThat(container.status().phase()).isEqualTo(Phase.RUNNING);
    clock.advance(Duration.ofHours(1));
    assertThat(container.stop(Duration.ZERO))
        .contains(
            new Outcome(
                new ExitStatus.Code(3),
                Optional.of(FakeClock.START),
                Optional.of(FakeClock.START.plusSeconds(5))));
  }

  @Test
  void aWaiterWakesWhenTheClockMoves() throws InterruptedException {
    Container container = created("fake.after", "1h");
    container.start();
    try (var scope = new TaskScope("waiter")) {
      var status = scope.fork(() -> ended(container));
      clock.advance(Duration.ofHours(1));
      scope.join();
      assertThat(status.result()).isEqualTo(new ExitStatus.Code(0));
    }
  }

  @Test
  void aDeadlineOnTheSameClockPasses() throws InterruptedException {
    Container container = created();
    container.start();
    var deadline = clock.deadline(Duration.ofSeconds(1));
    clock.advance(Duration.ofSeconds(1));
    assertThatThrownBy(() -> container.await(WaitCondition.NOT_RUNNING, deadline))
        .isInstanceOf(AgentException.Timeout.class);
  }

  @Test
  void graceIsMeasuredOnTheClock() throws InterruptedException {
    Container container = created("fake.ignore-term", "true");
    container.start();
    try (var scope = new TaskScope("stop")) {
      var outcome = scope.fork(() -> container.stop(Duration.ofSeconds(10)));
      Awaitility.await().until(() -> container.status().phase() == Phase.STOPPING);
      clock.advance(Duration.ofSeconds(9));
      assertThat(container.status().phase()).isEqualTo(Phase.STOPPING);
      clock.advance(Duration.ofSeconds(1));
      scope.join();
      assertThat(outcome.result().orElseThrow().status())
          .isEqualTo(new ExitStatus.Signalled(Signal.KILL));
    }
  }

  @Test
  void frozenTimeDoesNotCount() throws InterruptedException {
    Container container = created("fake.after", "10s");
    container.start();
    clock.advance(Duration.ofSeconds(9));
    ((Pausable) container).pause();
    clock.advance(Duration.ofSeconds(100));
    ((Pausable) container).unpause();
    assertThat(container.status().phase()).isEqualTo(Phase.RUNNING);
    clock.advance(Duration.ofSeconds(1));
    assertThat(container.status().phase()).isEqualTo(Phase.EXITED);
  }

  @Test
  void endsBySignalOrOutOfMemory() throws InterruptedException {
    Container container = created("fake.signal", "SEGV");
    container.start();
    assertThat(ended(container)).isEqualTo(new ExitStatus.Signalled(Signal.parse("SEGV")));
    container.remove(false);
    Container other = created("fake.oom", "true");
    other.start();
    assertThat(ended(other)).isEqualTo(new ExitStatus.OutOfMemory());
  }

  @Test
  void failsAtTheStepThatIsNamedAsOftenAsIsSaid() throws InterruptedException {
    assertThatThrownBy(() -> created("fake.fail", "create"))
        .isInstanceOf(AgentException.CreateFailed.class);
    assertThatThrownBy(() -> created("fake.fail", "pull"))
        .isInstanceOf(AgentException.PullFailed.class);
    assertThat(runtime.list()).isEmpty();
    Container container =
        created("fake.fail", "start,stop,remove", "fake.fail.times", "1", "fake.log", "bye");
    assertThatThrownBy(container::start).isInstanceOf(AgentException.StartFailed.class);
    assertThat(container.status().phase()).isEqualTo(Phase.EXITED);
    container.start();
    assertThatThrownBy(() -> container.stop(Duration.ZERO))
        .isInstanceOf(AgentException.Internal.class);
    assertThat(container.status().phase()).isEqualTo(Phase.RUNNING);
    container.stop(Duration.ZERO);
    assertThatThrownBy(() -> container.remove(false)).isInstanceOf(AgentException.Internal.class);
    container.remove(false);
    assertThat(world.journal())
        .startsWith("create web/app/1", "create web/app/1", "create web/app/1", "start web/app/1")
        .endsWith("remove web/app/1", "remove web/app/1");
  }

  @Test
  void refusesLabelsItDoesNotUnderstand() {
    for (var label :
        Map.of("fake.exit", "x", "fake.after", "soon", "fake.fail", "run").entrySet()) {
      assertThatThrownBy(() -> created(label.getKey(), label.getValue()))
          .isInstanceOf(AgentException.InvalidSpec.class);
    }
    assertThat(runtime.list()).isEmpty();
  }

  @Test
  void execsAnswerByLabelOrHandler() throws InterruptedException {
    Container container = created("fake.exec", "1");
    container.start();
    var deadline = Deadline.none();
    assertThat(container.exec(ExecSpec.of("x")).await(deadline)).isEqualTo(new ExitStatus.Code(1));
    world.onExec((_, spec) -> new FakeWorld.ExecResult(spec.command().size(), "", ""));
    assertThat(container.exec(ExecSpec.of("x", "y")).await(deadline))
        .isEqualTo(new ExitStatus.Code(2));
  }

  @Test
  void imagesArePulledAsThePolicySays() {
    var images = world.images();
    ImageRef other = ImageRef.parse("other:v1");
    assertThatThrownBy(() -> images.pull(PullRequest.of(other, PullPolicy.NEVER), _ -> {}))
        .isInstanceOf(AgentException.NotFound.class);
    images.failPull(other, () -> new AgentException.Network("no route"));
    var request = PullRequest.of(other, PullPolicy.IF_NOT_PRESENT);
    assertThatThrownBy(() -> images.pull(request, _ -> {}))
        .isInstanceOf(AgentException.Network.class);
    images.add(other);
    assertThat(images.pull(request, _ -> {}).references()).containsExactly(other);
    assertThat(images.pulls()).hasSize(3);
  }

  @Test
  void imagesInUseStayAndImagesForOthersAreRefused() {
    var images = world.images();
    created();
    assertThatThrownBy(() -> images.remove(IMAGE, false))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("web/app/1");
    ImageRef windows = ImageRef.parse("windows:v1");
    images.offer(windows, Platform.parse("windows/amd64"));
    images.add(windows);
    assertThatThrownBy(() -> runtime.create(ID.withGeneration(1), ContainerSpec.of(windows)))
        .isInstanceOf(AgentException.WrongPlatform.class);
    assertThat(images.prune(new PruneFilter(true, Optional.empty())).untagged())
        .containsExactly("windows:v1");
    assertThat(images.list()).hasSize(1);
  }
}
