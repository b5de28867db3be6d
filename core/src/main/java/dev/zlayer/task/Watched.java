package dev.zlayer.task;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * One immutable value that is read without waiting, changed by one thread at a time, and waited
 * for. A change that throws leaves the old value.
 */
public final class Watched<T> {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
  private volatile T value;

  public Watched(T value) {
    this.value = value;
  }

  public T now() {
    return value;
  }

  /** Replaces the value by what {@code change} makes of it; may block as long as that does. */
  public T update(UnaryOperator<T> change) {
    lock.lock();
    try {
      value = change.apply(value);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    listeners.forEach(Runnable::run);
    return value;
  }

  /** Calls {@code listener} after every change, on the thread that made it, until closed. */
  public KeyedLock.Held onChange(Runnable listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }

  /**
   * Blocks until the value is as wanted and returns that value.
   *
   * @throws dev.zlayer.error.AgentException.Timeout the deadline passed first
   */
  public T await(Predicate<T> wanted, Deadline deadline, String doing) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (!wanted.test(value)) {
        deadline.check(doing);
        changed.await(deadline.leftNanos(), TimeUnit.NANOSECONDS);
      }
      return value;
    } finally {
      lock.unlock();
    }
  }
}
