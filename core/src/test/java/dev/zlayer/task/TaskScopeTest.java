package dev.zlayer.task;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class TaskScopeTest {
  @Test
  void joinsAllAndHandsOutResults() throws Exception {
    try (var scope = new TaskScope("sum")) {
      var one = scope.fork(() -> 1);
      var two = scope.fork(() -> 2);
      scope.join();
      assertThat(one.result() + two.result()).isEqualTo(3);
    }
  }

  @Test
  void theFirstFailureInterruptsTheOthersAndIsThrownAsItself() {
    var interrupted = new AtomicBoolean();
    var started = new CountDownLatch(1);
    assertThatThrownBy(
            () -> {
              try (var scope = new TaskScope("pull")) {
                scope.fork(
                    () -> {
                      try {
                        started.countDown();
                        return new CountDownLatch(1).await(1, java.util.concurrent.TimeUnit.HOURS);
                      } catch (InterruptedException e) {
                        interrupted.set(true);
                        throw e;
                      }
                    });
                scope.fork(
                    () -> {
                      started.await();
                      throw new AgentException.RouteToPeer("web", "windows", "no runtime");
                    });
                scope.join();
              }
            })
        .isInstanceOf(AgentException.RouteToPeer.class)
        .hasNoSuppressedExceptions();
    assertThat(interrupted).isTrue();
  }

  @Test
  void checkedExceptionsKeepTheirCause() {
    assertThatThrownBy(
            () -> {
              try (var scope = new TaskScope("read")) {
                scope.fork(
                    () -> {
                      throw new IOException("disk gone");
                    });
                scope.join();
              }
            })
        .isInstanceOf(TaskScope.TaskFailed.class)
        .hasMessage("read failed: disk gone")
        .hasCauseInstanceOf(IOException.class);
  }

  @Test
  void closingWithoutJoinInterruptsAndWaits() {
    var ended = new AtomicBoolean();
    var started = new CountDownLatch(1);
    try (var scope = new TaskScope("left")) {
      scope.fork(
          () -> {
            try {
              started.countDown();
              return new CountDownLatch(1).await(1, java.util.concurrent.TimeUnit.HOURS);
            } finally {
              ended.set(true);
            }
          });
      started.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    assertThat(ended).isTrue();
  }

  @Test
  void anInterruptedJoinStillEndsEverythingAndKeepsTheFlag() throws Exception {
    var ended = new AtomicBoolean();
    var started = new CountDownLatch(1);
    assertThatThrownBy(
            () -> {
              try (var scope = new TaskScope("join")) {
                scope.fork(
                    () -> {
                      try {
                        started.countDown();
                        return new CountDownLatch(1).await(1, java.util.concurrent.TimeUnit.HOURS);
                      } finally {
                        ended.set(true);
                      }
                    });
                started.await();
                Thread.currentThread().interrupt();
                scope.join();
              }
            })
        .isInstanceOf(InterruptedException.class);
    assertThat(ended).isTrue();
    assertThat(Thread.interrupted()).isFalse();
  }

  @Test
  void parallelismIsALimit() throws Exception {
    var inside = new AtomicInteger();
    var most = new AtomicInteger();
    try (var scope = new TaskScope("limited", 3)) {
      for (int i = 0; i < 100; i++) {
        scope.fork(
            () -> {
              most.accumulateAndGet(inside.incrementAndGet(), Math::max);
              Thread.yield();
              return inside.decrementAndGet();
            });
      }
      scope.join();
    }
    assertThat(most.get()).isBetween(1, 3);
  }

  @Test
  void aResultBeforeJoinIsAMistakeThatIsSaid() throws Exception {
    var gate = new CountDownLatch(1);
    try (var scope = new TaskScope("early")) {
      var task =
          scope.fork(
              () -> {
                gate.await();
                return 1;
              });
      assertThatThrownBy(task::result)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("join()");
      gate.countDown();
      scope.join();
    }
  }
}
