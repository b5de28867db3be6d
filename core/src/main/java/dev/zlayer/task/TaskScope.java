package dev.zlayer.task;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Fan-out that cannot leak: every task runs on its own thread, and {@link #close} returns only when
 * all of them have ended. The first failure interrupts the others and is what {@link #join} throws;
 * failures that follow are attached to it as suppressed.
 *
 * <pre>{@code
 * try (var scope = new TaskScope("pull")) {
 *   for (Layer layer : layers) scope.fork(() -> fetch(layer));
 *   scope.join();
 * }
 * }</pre>
 *
 * <p>Owned by one thread: fork, join and close come from the thread that made it.
 */
public final class TaskScope implements AutoCloseable {
  private final String name;
  private final Semaphore permits;
  private final Thread.Builder builder;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private volatile boolean closing;

  public TaskScope(String name) {
    this(name, Integer.MAX_VALUE);
  }

  /** At most {@code parallelism} tasks run at a time; the others wait for their turn. */
  public TaskScope(String name, int parallelism) {
    this(name, parallelism, Thread.ofVirtual());
  }

  private TaskScope(String name, int parallelism, Thread.Builder builder) {
    this.name = name;
    this.permits = new Semaphore(parallelism, true);
    this.builder = builder;
  }

  /** For few tasks that compute, or block in native calls: virtual threads would starve others. */
  public static TaskScope ofPlatformThreads(String name) {
    return ofPlatformThreads(name, Integer.MAX_VALUE);
  }

  /** The same, of which at most {@code parallelism} run at a time. */
  public static TaskScope ofPlatformThreads(String name, int parallelism) {
    return new TaskScope(name, parallelism, Thread.ofPlatform().daemon());
  }

  /** A handle for the result; meaningful after {@link #join} returned. */
  public interface Task<T> {
    /** The result of a task that ended well; throws {@link IllegalStateException} otherwise. */
    T result();
  }

  public <T> Task<T> fork(Callable<T> work) {
    var future =
        new FutureTask<T>(
            () -> {
              permits.acquire();
              try {
                return work.call();
              } finally {
                permits.release();
              }
            });
    Thread thread =
        builder
            .name(name + "-" + threads.size())
            .unstarted(
                () -> {
                  future.run();
                  if (future.state() == java.util.concurrent.Future.State.FAILED) {
                    fail(future.exceptionNow());
                  }
                });
    synchronized (threads) {
      threads.add(thread);
    }
    thread.start();
    if (failure.get() != null) {
      thread.interrupt();
    }
    return () -> resultOf(future);
  }

  /** Waits for all tasks; throws the first failure as it was thrown by its task. */
  public void join() throws InterruptedException {
    for (Thread thread : threads) {
      thread.join();
    }
    Throwable first = failure.get();
    if (first != null) {
      throwFirst(first); // a switch over types is made at its first use, if there is one
    }
  }

  private void throwFirst(Throwable first) throws InterruptedException {
    switch (first) {
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      case InterruptedException _ -> throw new InterruptedException(name + " was interrupted");
      default -> throw new TaskFailed(name, first);
    }
  }

  /** Interrupts what still runs and waits for it; the caller's interrupt flag survives. */
  @Override
  public void close() {
    closing = true;
    interruptAll();
    Threads.join(threads);
  }

  private void fail(Throwable thrown) {
    if (failure.compareAndSet(null, thrown)) {
      interruptAll();
      return;
    }
    Throwable first = failure.get();
    boolean echo = thrown instanceof InterruptedException || closing;
    if (first != null && !first.equals(thrown) && !echo) {
      first.addSuppressed(thrown);
    }
  }

  private void interruptAll() {
    synchronized (threads) {
      threads.forEach(Thread::interrupt);
    }
  }

  private static <T> T resultOf(FutureTask<T> future) {
    try {
      if (!future.isDone()) {
        throw new IllegalStateException("join() the scope before reading a result");
      }
      return future.get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("the task failed", e.getCause());
    } catch (InterruptedException e) {
      throw new IllegalStateException("a finished task cannot block", e);
    }
  }

  /** A task threw a checked exception; it is the cause. */
  public static final class TaskFailed extends RuntimeException {
    TaskFailed(String name, Throwable cause) {
      super(name + " failed: " + cause.getMessage(), cause);
    }
  }
}
