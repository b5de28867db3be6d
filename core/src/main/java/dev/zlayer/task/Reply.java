package dev.zlayer.task;

import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The one answer of an owner thread to one asker. Completed once; a second completion is ignored,
 * so that an owner that gives up can fail everything that is still open.
 */
public final class Reply<T> {
  private final CountDownLatch done = new CountDownLatch(1);
  private @Nullable T value;
  private @Nullable RuntimeException failure;

  public synchronized void complete(T value) {
    if (done.getCount() > 0) {
      this.value = value;
      done.countDown();
    }
  }

  public synchronized void fail(RuntimeException failure) {
    if (done.getCount() > 0) {
      this.failure = failure;
      done.countDown();
    }
  }

  /** Blocks until answered; throws what the owner failed with. */
  public T await() throws InterruptedException {
    done.await();
    return answer();
  }

  /** The answer, or nothing when the deadline passed first. */
  public Optional<T> await(Deadline deadline) throws InterruptedException {
    return done.await(deadline.leftNanos(), TimeUnit.NANOSECONDS)
        ? Optional.of(answer())
        : Optional.empty();
  }

  /** Blocks until answered, also when interrupted; the interrupt flag survives. */
  public T awaitUninterruptibly() {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return await();
        } catch (InterruptedException _) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @SuppressWarnings("NullAway") // T may itself be nullable; completed means set
  private synchronized T answer() {
    if (failure != null) {
      throw failure;
    }
    return value;
  }
}
