package dev.zlayer.task;

import java.io.InterruptedIOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Platform threads, a bounded number, for work that holds the operating system's thread: native
 * calls, and long computing. A virtual thread that did it would hold its carrier; as many of them
 * as there are processors would keep all others from running. Whoever asks on a platform thread
 * does the work itself. Idle threads end.
 */
public final class BlockingPool {
  private static final int SOME = Math.max(4, 2 * Runtime.getRuntime().availableProcessors());

  /** For short work with files that waits for nobody, and that containers need to be made. */
  public static final BlockingPool FILES = new BlockingPool("files", SOME);

  /** For trees of any size: deleting layers and volumes, adding up. Nobody starts behind these. */
  public static final BlockingPool TREES = new BlockingPool("trees", SOME);

  /** For work with files that also waits for the other end of a stream: unpacking, archiving. */
  public static final BlockingPool STREAMS = new BlockingPool("streams", 64);

  private static final int IDLE_SECONDS = 10;

  /** Work that stops when it is interrupted. */
  @FunctionalInterface
  public interface Work<T, E extends Exception> {
    T run() throws E, InterruptedException;
  }

  /** Work that is short, or must not be left half done. */
  @FunctionalInterface
  public interface WholeWork<T, E extends Exception> {
    T run() throws E;
  }

  private final ThreadPoolExecutor threads;

  BlockingPool(String name, int limit) {
    this.threads =
        new ThreadPoolExecutor(
            limit,
            limit,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().daemon().name("blocking-" + name + "-", 0).factory());
    threads.allowCoreThreadTimeOut(true);
  }

  /**
   * Returns when the work has ended, which an interrupt of the caller makes it do early. Throws
   * what it threw.
   */
  public <T, E extends Exception> T call(Work<T, E> work) throws E, InterruptedException {
    if (!Thread.currentThread().isVirtual()) {
      return work.run();
    }
    var task = new Task<T>(work);
    threads.execute(task);
    try {
      task.ended.await();
    } catch (InterruptedException e) {
      if (threads.remove(task)) {
        throw e;
      }
      task.interrupt();
      task.awaitUninterrupted();
      if (task.failure instanceof InterruptedIOException) {
        Thread.currentThread().interrupt(); // it says so, as if this thread had done it
      }
    }
    return task.result();
  }

  /** Returns when the work has ended, interrupted or not; the interrupt flag survives. */
  public <T, E extends Exception> T complete(WholeWork<T, E> work) throws E {
    if (!Thread.currentThread().isVirtual()) {
      return work.run();
    }
    var task = new Task<T>(work::run);
    threads.execute(task);
    task.awaitUninterrupted();
    return task.result();
  }

  /** Something that is done once. */
  private static final class Task<T> implements Runnable {
    final CountDownLatch ended = new CountDownLatch(1);
    private final Work<T, ? extends Exception> work;
    private @Nullable Thread runner; // guarded by this
    private @Nullable T value;
    @Nullable Throwable failure;

    Task(Work<T, ? extends Exception> work) {
      this.work = work;
    }

    @Override
    public void run() {
      synchronized (this) {
        runner = Thread.currentThread();
      }
      try {
        value = work.run();
      } catch (Throwable e) {
        failure = e;
      } finally {
        synchronized (this) {
          runner = null; // from here on the thread belongs to others
          boolean _ = Thread.interrupted();
        }
        ended.countDown();
      }
    }

    synchronized void interrupt() {
      if (runner != null) {
        runner.interrupt();
      }
    }

    void awaitUninterrupted() {
      boolean interrupted = false;
      while (true) {
        try {
          ended.await();
          break;
        } catch (InterruptedException _) {
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals", "NullAway"})
    <E extends Exception> T result() throws E {
      if (failure instanceof Error error) {
        throw error;
      }
      if (failure != null) {
        throw (E) failure; // the work could throw nothing else
      }
      return value;
    }
  }
}
