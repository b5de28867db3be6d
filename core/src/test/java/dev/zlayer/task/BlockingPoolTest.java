package dev.zlayer.task;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class BlockingPoolTest {
  private final BlockingPool pool = new BlockingPool("test", 2);

  /** Runs it on a virtual thread and throws what it threw. */
  private static <T> T virtually(java.util.concurrent.Callable<T> work) throws Exception {
    try (var scope = new TaskScope("caller")) {
      var task = scope.fork(work);
      scope.join();
      return task.result();
    }
  }

  @Test
  void worksForVirtualThreadsOnOthers() throws Exception {
    Thread worker = virtually(() -> pool.call(Thread::currentThread));
    assertThat(worker.isVirtual()).isFalse();
    assertThat(pool.<Thread, RuntimeException>call(Thread::currentThread))
        .as("a platform thread works itself")
        .isSameAs(Thread.currentThread());
  }

  @Test
  void throwsWhatTheWorkThrew() {
    assertThatThrownBy(
            () ->
                virtually(
                    () ->
                        pool.complete(
                            () -> {
                              throw new IOException("disk");
                            })))
        .hasRootCauseMessage("disk");
    assertThatThrownBy(
            () ->
                virtually(
                    () ->
                        pool.call(
                            () -> {
                              throw new StackOverflowError();
                            })))
        .isInstanceOf(StackOverflowError.class);
  }

  @Test
  void noMoreThanItsLimitWorkAtATime() throws Exception {
    var now = new AtomicInteger();
    var most = new AtomicInteger();
    try (var scope = new TaskScope("callers")) {
      for (int i = 0; i < 20; i++) {
        scope.fork(
            () ->
                pool.call(
                    () -> {
                      most.accumulateAndGet(now.incrementAndGet(), Math::max);
                      Thread.sleep(2);
                      return now.decrementAndGet();
                    }));
      }
      scope.join();
    }
    assertThat(most.get()).isBetween(1, 2);
  }

  @Test
  void anInterruptReachesTheWorkAndNobodyElse() throws Exception {
    var begun = new CountDownLatch(1);
    var seen = new AtomicReference<Throwable>();
    Thread caller =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    pool.call(
                        () -> {
                          begun.countDown();
                          Thread.sleep(60_000);
                          return true;
                        });
                  } catch (InterruptedException e) {
                    seen.set(e);
                  }
                });
    begun.await();
    caller.interrupt();
    caller.join();
    assertThat(seen.get()).isInstanceOf(InterruptedException.class);
    for (int i = 0; i < 4; i++) {
      assertThat(virtually(() -> pool.call(Thread::interrupted))).isFalse();
    }
  }

  @Test
  void wholeWorkIsDoneAlthoughItsCallerIsInterrupted() throws Exception {
    var flag = new AtomicReference<Boolean>();
    Thread caller =
        Thread.ofVirtual()
            .unstarted(
                () -> {
                  Thread.currentThread().interrupt();
                  boolean done = pool.complete(() -> true);
                  flag.set(done && Thread.currentThread().isInterrupted());
                });
    caller.start();
    caller.join();
    assertThat(flag.get()).isTrue();
  }
}
