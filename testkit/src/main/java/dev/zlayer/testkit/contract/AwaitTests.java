package dev.zlayer.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerStatus.Phase;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Waiting for the end. */
interface AwaitTests extends Harness {
  @Test
  default void notRunningHoldsAtOnceForOneThatDoesNotRun() throws InterruptedException {
    Container container = created(Workload.exitsWith(4));
    assertThat(ended(container).status()).isInstanceOf(ExitStatus.Unknown.class);
    container.start();
    assertThat(code(ended(container))).hasValue(4);
    assertThat(code(ended(container))).as("and again").hasValue(4);
  }

  @Test
  default void waitsForAnEndThatComesLater() throws InterruptedException {
    Container container = started(Workload.exitsWith(2).after(Duration.ofMillis(400)));
    assertThat(code(ended(container))).hasValue(2);
  }

  @ParameterizedTest
  @EnumSource(WaitCondition.class)
  default void theDeadlineEndsTheWaitAndNotTheContainer(WaitCondition condition)
      throws InterruptedException {
    Container container = started(Workload.sleepsForever());
    assertThatThrownBy(() -> container.await(condition, Deadline.after(Duration.ofMillis(100))))
        .isInstanceOf(AgentException.Timeout.class);
    assertThat(phase(container)).isEqualTo(Phase.RUNNING);
  }

  @Test
  default void nextExitDoesNotHoldForAnEarlierExit() throws InterruptedException {
    Container container = started(Workload.exitsWith(0));
    ended(container);
    var deadline = Deadline.after(Duration.ofMillis(100));
    assertThatThrownBy(() -> container.await(WaitCondition.NEXT_EXIT, deadline))
        .isInstanceOf(AgentException.Timeout.class);
  }

  /** It is started again and again, because nobody can tell when the waiter has begun to wait. */
  @Test
  default void nextExitSeesTheEndOfALaterRun() throws InterruptedException {
    Container container = created(Workload.exitsWith(12));
    var seen = new AtomicBoolean();
    try (var scope = new TaskScope("next-exit")) {
      var outcome =
          scope.fork(
              () -> {
                try {
                  return container.await(WaitCondition.NEXT_EXIT, patience());
                } finally {
                  seen.set(true);
                }
              });
      while (!seen.get()) {
        container.start();
        ended(container);
      }
      scope.join();
      assertThat(code(outcome.result())).hasValue(12);
    }
  }

  @Test
  default void removedHoldsWhenItIsGone() throws InterruptedException {
    Container container = started(Workload.exitsWith(3));
    ended(container);
    try (var scope = new TaskScope("removed")) {
      var outcome = scope.fork(() -> container.await(WaitCondition.REMOVED, patience()));
      container.remove(false);
      scope.join();
      assertThat(code(outcome.result())).hasValue(3);
    }
  }

  @Test
  default void removalEndsEveryWait() throws InterruptedException {
    Container container = ready(Workload.ignoresTerm());
    try (var scope = new TaskScope("waiters")) {
      for (WaitCondition condition : WaitCondition.values()) {
        scope.fork(() -> container.await(condition, patience()));
      }
      container.remove(true);
      scope.join();
    }
  }

  @Test
  default void oneRemovedWithoutHavingRunEndedInAnUnknownWay() throws InterruptedException {
    Container container = created(Workload.exitsWith(0));
    container.remove(false);
    var outcome = container.await(WaitCondition.REMOVED, patience());
    assertThat(outcome.status()).isInstanceOf(ExitStatus.Unknown.class);
  }

  @Test
  default void everyWaiterLearnsTheSame() throws InterruptedException {
    Container container = ready(Workload.endsOn(Signal.TERM, 21));
    try (var scope = new TaskScope("waiters")) {
      for (int i = 0; i < 5; i++) {
        scope.fork(
            () -> {
              assertThat(code(ended(container))).hasValue(21);
              return true;
            });
      }
      container.kill(Signal.TERM);
      scope.join();
    }
  }
}
