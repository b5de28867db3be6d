package dev.zlayer.task;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class KeyedLockTest {
  private final KeyedLock<String> locks = new KeyedLock<>();

  @Test
  void oneKeyExcludesAndForgetsItselfAfterwards() throws Exception {
    var inside = new AtomicInteger();
    var most = new AtomicInteger();
    try (var scope = new TaskScope("lock")) {
      for (int i = 0; i < 200; i++) {
        scope.fork(
            () -> {
              try (var _ = locks.lock("a")) {
                most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                Thread.yield();
                inside.decrementAndGet();
              }
              return null;
            });
      }
      scope.join();
    }
    assertThat(most).hasValue(1);
    assertThat(locks.size()).isZero();
  }

  @Test
  void differentKeysDoNotWait() throws Exception {
    try (var _ = locks.lock("a");
        var _ = locks.lock("b")) {
      assertThat(locks.size()).isEqualTo(2);
    }
  }

  @Test
  void anInterruptedWaiterLeavesNothingBehind() throws Exception {
    var waiting = new CountDownLatch(1);
    try (var _ = locks.lock("a")) {
      assertThatThrownBy(
              () -> {
                try (var scope = new TaskScope("waiter")) {
                  scope.fork(
                      () -> {
                        waiting.countDown();
                        return locks.lock("a");
                      });
                  scope.fork(
                      () -> {
                        waiting.await();
                        throw new IllegalStateException("interrupts the waiter");
                      });
                  scope.join();
                }
              })
          .hasMessage("interrupts the waiter");
    }
    Awaitility.await().atMost(Duration.ofSeconds(5)).until(() -> locks.size() == 0);
  }
}
