package dev.zlayer.host.linux;

import dev.zlayer.task.Deadline;
import dev.zlayer.task.Threads;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Lets virtual threads wait for descriptors that the Java library has no class for. Owns one thread
 * that sleeps in the kernel for all of them, so that none of theirs has to.
 */
public final class ReadyLoop implements AutoCloseable {
  private final ReadyPoll poll;
  private final Map<Long, Runnable> listeners = new HashMap<>(); // guarded by this
  private final Thread thread;
  private long lastKey; // guarded by this
  private boolean closing; // guarded by this

  private ReadyLoop(ReadyPoll poll, String name) {
    this.poll = poll;
    this.thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
  }

  public static ReadyLoop open(String name) throws IOException {
    var loop = new ReadyLoop(ReadyPoll.open(), name);
    loop.thread.start();
    return loop;
  }

  /** Waits until there is something to read, or the end; false when the deadline came first. */
  boolean await(OwnedDescriptor descriptor, Deadline deadline)
      throws IOException, InterruptedException {
    var ready = new CountDownLatch(1);
    long key = add(descriptor, ready::countDown);
    try {
      boolean called = ready.await(deadline.leftNanos(), TimeUnit.NANOSECONDS);
      if (closing()) {
        throw new IOException("nobody waits any more");
      }
      return called;
    } finally {
      remove(key, descriptor);
    }
  }

  /** Waits for the end of a child of this process and takes its status; closes the handle. */
  void reap(long child, PidFd handle) throws IOException {
    try {
      long _ = add(handle.descriptor(), () -> reaped(child, handle));
    } catch (IOException e) {
      handle.close();
      throw e;
    }
  }

  private static void reaped(long child, PidFd handle) {
    boolean _ = Spawn.exitCode(child).isPresent();
    handle.close();
  }

  /**
   * Calls a listener once, soon, on the thread of all; {@link #remove} has to follow, or the end of
   * the descriptor.
   */
  synchronized long add(OwnedDescriptor descriptor, Runnable listener) throws IOException {
    if (closing) {
      throw new IOException("nobody waits any more");
    }
    long key = ++lastKey;
    poll.add(key, descriptor);
    listeners.put(key, listener);
    return key;
  }

  synchronized void remove(long key, OwnedDescriptor descriptor) throws IOException {
    listeners.remove(key);
    if (!closing) {
      poll.remove(descriptor);
    }
  }

  private void run() {
    try {
      while (!closing()) {
        for (long key : poll.next()) {
          call(key);
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException("cannot wait for descriptors any more", e);
    }
  }

  private synchronized boolean closing() {
    return closing;
  }

  private void call(long key) {
    Runnable listener;
    synchronized (this) {
      listener = listeners.remove(key);
    }
    if (listener != null) {
      listener.run();
    }
  }

  /** Who still waits is told that it is in vain. */
  @Override
  public void close() {
    synchronized (this) {
      if (closing) {
        return;
      }
      closing = true;
    }
    try {
      poll.wake();
      Threads.join(thread);
    } catch (IOException _) {
      // the thread ends with the process then
    }
    poll.close();
    synchronized (this) {
      listeners.values().forEach(Runnable::run);
      listeners.clear();
    }
  }
}
