package dev.zlayer.host.file;

import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.Path;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Tells about changes in directories. One thread and one kernel queue serve any number of
 * directories and listeners, because the kernel allows a user only few such queues.
 *
 * <p>Listeners run on the loop's thread and must be quick. They learn that something may have
 * changed, not what: they look themselves, so a lost or a doubled event does no harm.
 */
public final class DirectoryWatchLoop implements DirectoryWatch {
  private static final System.Logger LOG = LazyLogger.of(DirectoryWatchLoop.class);

  /** A listener that is still told; closing it twice is harmless. */
  public interface Registration extends AutoCloseable {
    @Override
    void close();
  }

  private final WatchService service;
  private final WatchEvent.Kind<?>[] events;
  private final Map<WatchKey, List<Runnable>> listeners = new ConcurrentHashMap<>();
  private final Thread thread;

  /**
   * Registers and cancels one at a time: the JDK's service wakes its thread through a pipe while it
   * holds the lock that this thread needs, so some hundreds at once would block it for ever.
   */
  private final ReentrantLock changes = new ReentrantLock();

  private DirectoryWatchLoop(
      String name, WatchService service, List<WatchEvent.Kind<Path>> events) {
    this.service = service;
    this.events = events.toArray(WatchEvent.Kind<?>[]::new);
    this.thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
  }

  /** Starts watching for these kinds of events. */
  public static DirectoryWatchLoop open(
      String name, Path anywhere, List<WatchEvent.Kind<Path>> events) throws IOException {
    var loop = new DirectoryWatchLoop(name, anywhere.getFileSystem().newWatchService(), events);
    loop.thread.start();
    return loop;
  }

  @Override
  public Registration watch(Path directory, Runnable listener) throws IOException {
    changes.lock();
    try {
      WatchKey key = directory.register(service, events);
      listeners.computeIfAbsent(key, _ -> new CopyOnWriteArrayList<>()).add(listener);
      return () -> unwatch(key, listener);
    } finally {
      changes.unlock();
    }
  }

  /** Who is not registered any more may say so again. */
  private void unwatch(WatchKey key, Runnable listener) {
    changes.lock();
    try {
      List<Runnable> remaining = listeners.get(key);
      if (remaining != null && remaining.remove(listener) && remaining.isEmpty()) {
        listeners.remove(key);
        key.cancel();
      }
    } finally {
      changes.unlock();
    }
  }

  private void run() {
    try {
      while (true) {
        WatchKey key = service.take();
        key.pollEvents();
        boolean alive = key.reset();
        listeners.getOrDefault(key, List.of()).forEach(DirectoryWatchLoop::tell);
        if (!alive) {
          listeners.remove(key);
        }
      }
    } catch (ClosedWatchServiceException | InterruptedException _) {
      // the end
    }
  }

  private static void tell(Runnable listener) {
    try {
      listener.run();
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "a listener to a directory failed", e);
    }
  }

  @Override
  public void close() throws IOException {
    service.close();
    thread.interrupt();
  }
}
