package dev.zlayer.task;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One lock per key, kept only while somebody holds or awaits it. Work on different keys never waits
 * for each other.
 */
public final class KeyedLock<K> {
  private static final class Entry {
    final ReentrantLock lock = new ReentrantLock();
    int users;
  }

  /** A held lock; closing it twice is harmless. */
  public interface Held extends AutoCloseable {
    @Override
    void close();
  }

  private final Map<K, Entry> entries = new HashMap<>();

  /** Blocks until the key is free; interruptible. */
  public Held lock(K key) throws InterruptedException {
    Entry entry = enter(key);
    try {
      entry.lock.lockInterruptibly();
    } catch (InterruptedException e) {
      leave(key, entry);
      throw e;
    }
    return new Held() {
      private boolean released;

      @Override
      public void close() {
        if (!released) {
          released = true;
          entry.lock.unlock();
          leave(key, entry);
        }
      }
    };
  }

  /** How many keys are held or awaited now. */
  public int size() {
    synchronized (entries) {
      return entries.size();
    }
  }

  private Entry enter(K key) {
    synchronized (entries) {
      Entry entry = entries.computeIfAbsent(key, _ -> new Entry());
      entry.users++;
      return entry;
    }
  }

  private void leave(K key, Entry entry) {
    synchronized (entries) {
      if (--entry.users == 0) {
        entries.remove(key);
      }
    }
  }
}
