package dev.zlayer.host.file;

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

/**
 * Tells about changes in directories. One thread and one kernel queue serve any number of
 * directories and listeners, because the kernel allows a user only few such queues.
 *
 * <p>Listeners run on the loop's thread and must be quick. They learn that something may have
 * changed, not what: they look themselves, so a lost or a doubled event does no harm.
 */
public final class DirectoryWatchLoop implements DirectoryWatch {
  private static final System.Logger LOG = System.getLogger(DirectoryWatchLoop.class.getName());

  /** A listener that is still told; closing it twice is harmless. */
  public interface Registration extends AutoCloseable {
    @Override
    void close();
  }

  private final WatchService service;
  private final WatchEvent.Kind<?>[] events;
  private final Map<WatchKey, List<Runnable>> listeners = new ConcurrentHashMap<>();
  private final Thread thread;

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
    // between the kernel's answer and our entry the last other listener may cancel the key
    while (true) {
      WatchKey key = directory.register(service, events);
      listeners.computeIfAbsent(key, _ -> new CopyOnWriteArrayList<>()).add(listener);
      if (key.isValid()) {
        return () -> unwatch(key, listener);
      }
      unwatch(key, listener);
    }
  }

  private void unwatch(WatchKey key, Runnable listener) {
    listeners.computeIfPresent(
        key,
        (_, remaining) -> {
          remaining.remove(listener);
          if (!remaining.isEmpty()) {
            return remaining;
          }
          key.cancel();
          return null;
        });
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
