package dev.zlayer.runtime.oci;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ExitPoll;
import dev.zlayer.host.linux.PidFd;
import dev.zlayer.host.linux.ProcessIdentity;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Waits for monitors to end, those of earlier agents too. conmon ends right after it has noted how
 * its container ended, so its own end is the one event that covers everything, also its murder.
 * Owns one thread that sleeps in the kernel; each listener runs on a virtual thread.
 */
final class ExitWatchLoop implements AutoCloseable {
  private final ExitPoll poll;
  private final Map<Long, Runnable> listeners = new ConcurrentHashMap<>();
  private final AtomicLong keys = new AtomicLong();
  private final Thread thread;
  private volatile boolean closing;

  private ExitWatchLoop(ExitPoll poll) {
    this.poll = poll;
    this.thread = Thread.ofPlatform().daemon().name("container-exits").unstarted(this::run);
  }

  static ExitWatchLoop open() {
    try {
      var loop = new ExitWatchLoop(ExitPoll.open());
      loop.thread.start();
      return loop;
    } catch (IOException e) {
      throw new AgentException.Internal("cannot wait for processes: " + e.getMessage(), e);
    }
  }

  /** Calls the listener once the process has ended, at once if it already has. */
  void onEnd(ProcessIdentity process, Runnable listener) {
    try {
      Optional<PidFd> handle = process.open();
      if (handle.isEmpty()) {
        Thread.startVirtualThread(listener);
        return;
      }
      long key = keys.incrementAndGet();
      listeners.put(key, listener);
      poll.add(key, handle.get());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot wait for process %d: %s".formatted(process.pid(), e.getMessage()), e);
    }
  }

  private void run() {
    try {
      while (!closing) {
        for (long key : poll.next()) {
          Runnable listener = listeners.remove(key);
          if (listener != null) {
            Thread.startVirtualThread(listener);
          }
        }
      }
    } catch (IOException e) {
      throw new AgentException.Internal("cannot wait for processes any more", e);
    }
  }

  @Override
  public void close() {
    closing = true;
    try {
      poll.wake();
      thread.join();
    } catch (IOException _) {
      // the thread ends with the process then
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    poll.close();
  }
}
