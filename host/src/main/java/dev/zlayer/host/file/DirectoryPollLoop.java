package dev.zlayer.host.file;

import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Pauses;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Has listeners look again and again, for directories whose changes nobody tells: those that
 * another system writes to. It sleeps while nobody listens.
 */
public final class DirectoryPollLoop implements DirectoryWatch {
  private static final System.Logger LOG = LazyLogger.of(DirectoryPollLoop.class);

  private final Duration pause;
  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
  private final Thread thread;

  private DirectoryPollLoop(String name, Duration pause) {
    this.pause = pause;
    this.thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
  }

  public static DirectoryPollLoop open(String name, Duration pause) {
    var loop = new DirectoryPollLoop(name, pause);
    loop.thread.start();
    return loop;
  }

  @Override
  public DirectoryWatchLoop.Registration watch(Path directory, Runnable listener) {
    synchronized (this) {
      listeners.add(listener);
      notifyAll();
    }
    return () -> listeners.remove(listener);
  }

  private void run() {
    try {
      while (true) {
        awaitListeners();
        Pauses.REAL.pause(pause);
        listeners.forEach(DirectoryPollLoop::tell);
      }
    } catch (InterruptedException _) {
      // the end
    }
  }

  private synchronized void awaitListeners() throws InterruptedException {
    while (listeners.isEmpty()) {
      wait();
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
  public void close() {
    thread.interrupt();
  }
}
