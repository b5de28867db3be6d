package dev.zlayer.daemon;

import dev.zlayer.daemon.log.Log;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;

/**
 * Things that were started in an order, and are stopped in the reverse one. Owned by the thread
 * that starts them; closed once.
 */
final class Parts implements AutoCloseable {
  private final Log log;
  private final Deque<Part> started = new ArrayDeque<>();

  private record Part(String name, AutoCloseable stop) {}

  /** Starts something that has to be closed. */
  @FunctionalInterface
  interface Starter<T> {
    T start() throws InterruptedException;
  }

  Parts(Log log) {
    this.log = log;
  }

  /** Starts the next part; when that fails, what was started is stopped and the part is named. */
  <T extends AutoCloseable> T start(String name, Starter<T> starter) throws InterruptedException {
    T part = make(name, starter);
    started.push(new Part(name, part));
    return part;
  }

  /** As {@link #start}, for something that needs no end. */
  <T> T make(String name, Starter<T> starter) throws InterruptedException {
    try {
      T part = starter.start();
      log.debug("started", Map.of("part", name));
      return part;
    } catch (InterruptedException | RuntimeException | Error e) {
      if (e.getSuppressed().length == 0) { // else a part of this part has told it
        log.warn("could not start", Map.of("part", name, "reason", String.valueOf(e.getMessage())));
      }
      // one of our errors is not wrapped in another: which part it was goes beside it
      e.addSuppressed(new IllegalStateException("while starting " + name));
      close();
      throw e;
    }
  }

  /** Stops everything, the last first, whatever goes wrong on the way. */
  @Override
  public void close() {
    while (!started.isEmpty()) {
      Part part = started.pop();
      try {
        part.stop().close();
        log.debug("stopped", Map.of("part", part.name()));
      } catch (Exception e) {
        if (e instanceof InterruptedException) {
          Thread.currentThread().interrupt();
        }
        log.error("could not stop", e, Map.of("part", part.name()));
      }
    }
  }
}
