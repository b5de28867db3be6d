package dev.zlayer.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerStatus.Phase;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.container.StopSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.time.Duration;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How a container ends, and how that is told. */
interface EndTests extends Harness {
  ExitStatus KILLED = new ExitStatus.Signalled(Signal.KILL);

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 42, 125, 126, 127, 128, 254, 255})
  default void tellsTheExitCode(int code) throws InterruptedException {
    Outcome outcome = ended(started(Workload.exitsWith(code)));
    assertThat(outcome.status()).isEqualTo(new ExitStatus.Code(code));
  }

  @Test
  default void stopLetsItEndByItself() throws InterruptedException {
    Container container = ready(Workload.endsOn(Signal.TERM, 7));
    Outcome outcome = container.stop(TIMEOUT).orElseThrow();
    assertThat(outcome.status()).isEqualTo(new ExitStatus.Code(7));
    assertThat(phase(container)).isEqualTo(Phase.EXITED);
  }

  @Test
  default void stopKillsWhenTheGraceIsOver() throws InterruptedException {
    Container container = ready(Workload.ignoresTerm());
    Duration grace = Duration.ofMillis(300);
    Deadline begun = patience();
    Outcome outcome = container.stop(grace).orElseThrow();
    assertThat(outcome.status()).isEqualTo(KILLED);
    assertThat(TIMEOUT.minus(begun.left())).isGreaterThanOrEqualTo(grace);
  }

  @Test
  default void stopWithoutGraceKills() throws InterruptedException {
    Container container = ready(Workload.ignoresTerm());
    assertThat(container.stop(Duration.ZERO).orElseThrow().status()).isEqualTo(KILLED);
  }

  @Test
  default void stopSendsTheSignalOfTheSpec() throws InterruptedException {
    Signal signal = Signal.parse("USR1");
    var workload = Workload.endsOn(signal, 11).printing("ready");
    var stop = new StopSpec(Optional.of(signal), Duration.ofSeconds(10));
    Container container = create(spec(workload).withStop(stop));
    container.start();
    Awaitility.await().until(() -> !lines(container, dev.zlayer.container.LogQuery.ALL).isEmpty());
    assertThat(code(container.stop(TIMEOUT).orElseThrow())).hasValue(11);
  }

  @Test
  default void stoppingAnEndedOneTellsHowItEnded() throws InterruptedException {
    Container container = started(Workload.exitsWith(6));
    Outcome outcome = ended(container);
    assertThat(container.stop(TIMEOUT)).contains(outcome);
    assertThat(container.stop(TIMEOUT)).contains(outcome);
  }

  @Test
  default void stoppingOneThatNeverRanLeavesItAsItIs() throws InterruptedException {
    Container container = created(Workload.exitsWith(0));
    assertThat(container.stop(TIMEOUT)).isEmpty();
    assertThat(phase(container)).isEqualTo(Phase.CREATED);
  }

  @Test
  default void killEndsIt() throws InterruptedException {
    Container container = started(Workload.ignoresTerm());
    container.kill(Signal.KILL);
    assertThat(ended(container).status()).isEqualTo(KILLED);
  }

  @ParameterizedTest
  @ValueSource(strings = {"HUP", "INT", "USR1", "USR2", "TERM"})
  default void killSendsAnySignal(String name) throws InterruptedException {
    Signal signal = Signal.parse(name);
    Container container = ready(Workload.endsOn(signal, 40 + signal.number()));
    container.kill(signal);
    assertThat(code(ended(container))).hasValue(40 + signal.number());
  }

  @Test
  default void killingOneThatDoesNotRunIsRefused() throws InterruptedException {
    Container container = created(Workload.exitsWith(0));
    assertThatThrownBy(() -> container.kill(Signal.TERM))
        .isInstanceOf(AgentException.Conflict.class);
    container.start();
    ended(container);
    assertThatThrownBy(() -> container.kill(Signal.TERM))
        .isInstanceOf(AgentException.Conflict.class);
  }

  /** One stop that waits blocks neither reading nor a kill. */
  @Test
  default void aWaitingStopIsSeenAndCutShortByAKill() throws InterruptedException {
    Container container = ready(Workload.ignoresTerm());
    Deadline begun = patience();
    try (var scope = new TaskScope("stop")) {
      var stopped = scope.fork(() -> container.stop(TIMEOUT));
      Awaitility.await().until(() -> phase(container) == Phase.STOPPING);
      assertThat(current().list()).extracting(Container::id).contains(container.id());
      assertThat(current().find(container.id()).map(this::phase)).contains(Phase.STOPPING);
      container.kill(Signal.KILL);
      scope.join();
      assertThat(stopped.result().orElseThrow().status()).isEqualTo(KILLED);
    }
    assertThat(begun.passed()).isFalse();
  }

  @Test
  default void anInterruptedStopCanBeMadeAgain() throws InterruptedException {
    Container container = ready(Workload.ignoresTerm());
    try (var scope = new TaskScope("stop")) {
      scope.fork(() -> container.stop(TIMEOUT));
      Awaitility.await().until(() -> phase(container) == Phase.STOPPING);
    }
    assertThat(container.status().alive()).isTrue();
    assertThat(container.stop(Duration.ZERO).orElseThrow().status()).isEqualTo(KILLED);
    container.start();
    assertThat(phase(container)).isEqualTo(Phase.RUNNING);
  }
}
