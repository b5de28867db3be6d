package dev.zlayer.daemon.standalone;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.port.Pausable;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients that leave in the middle of what they asked for. */
@Timeout(90)
class StandaloneContainersTest {
  private static final ImageRef IMAGE = ImageRef.parse("app:1");

  private final FakeWorld world = new FakeWorld(InstantSource.system());
  private final FakeRuntime runtime = new FakeRuntime(world);
  private final StandaloneContainers standalone =
      StandaloneContainers.open(
          runtime,
          new MemoryStateStore(),
          TimeSource.of(InstantSource.system()),
          Pauses.REAL,
          new Supervisor(),
          Log.silent());

  @AfterEach
  void close() {
    standalone.close();
  }

  private Container create(Optional<Duration> startWithin, Map<String, String> labels)
      throws InterruptedException {
    world.images().add(IMAGE);
    return standalone.create(
        ContainerSpec.of(IMAGE).withLabels(labels),
        new StandaloneContainers.CreateRequest(
            Optional.of("one"),
            Optional.empty(),
            Optional.of(Duration.ZERO),
            startWithin,
            Optional.empty()));
  }

  private void awaitNone() {
    Awaitility.await().untilAsserted(() -> assertThat(runtime.list()).isEmpty());
  }

  /** The container with a method that is interrupted the first time. */
  private static Container interrupted(Container container, String method) {
    var calls = new AtomicInteger();
    return (Container)
        Proxy.newProxyInstance(
            Container.class.getClassLoader(),
            new Class<?>[] {Container.class},
            (_, called, arguments) -> {
              if (called.getName().equals(method) && calls.incrementAndGet() == 1) {
                throw new InterruptedException();
              }
              try {
                return called.invoke(container, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Test
  void oneThatIsNotStartedInTimeIsRemovedAlsoAfterAStartThatWasInterrupted() throws Exception {
    Container made = create(Optional.of(Duration.ofSeconds(2)), Map.of());
    assertThatThrownBy(() -> standalone.start(interrupted(made, "start")))
        .isInstanceOf(InterruptedException.class);
    assertThat(made.status()).isInstanceOf(ContainerStatus.Created.class);
    awaitNone();
  }

  @Test
  void whatIsNotRemovedKeepsItsRules() throws Exception {
    Container made =
        create(Optional.empty(), Map.of("fake.fail", "remove", "fake.fail.times", "1"));
    standalone.start(made);
    assertThatThrownBy(() -> standalone.remove(made, true)).isInstanceOf(AgentException.class);
    awaitNone(); // it was ended, and its rules say that it is removed then
  }

  @Test
  void whatIsNotRemovedByAClientThatLeavesKeepsItsRules() throws Exception {
    Container made = create(Optional.empty(), Map.of());
    standalone.start(made);
    assertThatThrownBy(() -> standalone.remove(interrupted(made, "remove"), true))
        .isInstanceOf(InterruptedException.class);
    awaitNone();
  }

  @Test
  void aStopIsCompletedAlthoughItsClientLeaves() throws Exception {
    Container made = create(Optional.empty(), Map.of("fake.ignore-term", "true"));
    standalone.start(made);
    assertThat(standalone.stop(interrupted(made, "stop"), Optional.empty(), Duration.ofMillis(200)))
        .hasValueSatisfying(end -> assertThat(end.status().text()).contains("KILL"));
    assertThat(Thread.interrupted()).isTrue();
    assertThat(made.status().alive()).isFalse();
  }

  @Test
  void whatIsPausedForAWhileContinuesHoweverOftenTheClientLeaves() throws Exception {
    Container made = create(Optional.empty(), Map.of());
    standalone.start(made);
    var calls = new AtomicInteger();
    var pausable =
        new Pausable() {
          @Override
          public void pause() throws InterruptedException {
            ((Pausable) made).pause();
          }

          @Override
          public void unpause() throws InterruptedException {
            if (calls.incrementAndGet() == 1) {
              throw new InterruptedException();
            }
            ((Pausable) made).unpause();
          }
        };
    assertThatThrownBy(
            () ->
                WhilePaused.run(
                    pausable,
                    () -> {
                      assertThat(made.status()).isInstanceOf(ContainerStatus.Paused.class);
                      throw new InterruptedException();
                    }))
        .isInstanceOf(InterruptedException.class);
    assertThat(Thread.interrupted()).isTrue();
    assertThat(made.status()).isInstanceOf(ContainerStatus.Running.class);
  }
}
