package dev.zlayer.engine.init;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Bounds work that has no deadline of its own: at the end of its time it is interrupted. */
final class TimeLimit {
  private TimeLimit() {}

  /** Returns only when the work has ended, in time or by the interrupt. */
  static <T> T within(Deadline deadline, String doing, Callable<T> work)
      throws InterruptedException {
    try (var scope = new TaskScope("limited")) {
      var done = new CountDownLatch(1);
      TaskScope.Task<T> task =
          scope.fork(
              () -> {
                try {
                  return work.call();
                } finally {
                  done.countDown();
                }
              });
      if (!done.await(deadline.leftNanos(), TimeUnit.NANOSECONDS)) {
        throw new AgentException.Timeout(doing, deadline.limit());
      }
      scope.join();
      return task.result();
    }
  }
}
