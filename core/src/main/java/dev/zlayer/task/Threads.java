package dev.zlayer.task;

import java.time.Duration;
import java.util.Collection;
import java.util.List;

/** Waits for threads to end, for owners that close. */
public final class Threads {
  private Threads() {}

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
