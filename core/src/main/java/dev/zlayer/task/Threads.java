package dev.zlayer.task;

import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;

/**
 * Waits for threads to end, and for work that has to be done although its thread is interrupted.
 */
public final class Threads {
  /** Doing it again after an interrupt ended it early does no harm. */
  @FunctionalInterface
  public interface Repeatable<E extends Exception> {
    void run() throws E, InterruptedException;
  }

  private Threads() {}

  /**
   * Returns when the work is done. An interrupt, before or in the middle of it, means that whoever
   * waits has left, which is no reason to leave it half done: it is started again. The flag
   * survives.
   */
  public static <E extends Exception> void complete(Repeatable<E> work) throws E {
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        try {
          work.run();
          return;
        } catch (InterruptedException _) {
          interrupted = true;
        } catch (Exception e) {
          if (!endedEarly(e)) {
            throw e;
          }
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Files and streams report an interrupt as a failure of theirs and leave the flag. */
  private static boolean endedEarly(Exception e) {
    return (e instanceof InterruptedIOException || e instanceof ClosedByInterruptException)
        && Thread.interrupted();
  }

  public static void join(Thread thread) {
    join(List.of(thread));
  }

  /** As below, for a limited time; whether it has ended. */
  static boolean join(Thread thread, Duration limit) {
    boolean interrupted = Thread.interrupted();
    try {
      return thread.equals(Thread.currentThread()) || thread.join(limit);
    } catch (InterruptedException _) {
      interrupted = true;
      return !thread.isAlive();
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Cannot be interrupted; the caller's interrupt flag survives. Nobody waits for itself. */
  public static void join(Collection<Thread> threads) {
    boolean interrupted = Thread.interrupted();
    for (Thread thread : threads) {
      while (thread.isAlive() && !thread.equals(Thread.currentThread())) {
        try {
          thread.join();
        } catch (InterruptedException _) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
