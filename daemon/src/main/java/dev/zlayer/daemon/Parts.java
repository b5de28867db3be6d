package dev.zlayer.daemon;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.task.TaskScope;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/**
 * Things that were started in an order, and are stopped in the reverse one. Owned by the thread
 * that starts them; closed once.
 */
final class Parts implements AutoCloseable {
  private final Log log;
  private final Deque<Part> started = new ArrayDeque<>();
  private final List<Pending<?>> pending = new ArrayList<>();

  private record Part(String name, AutoCloseable stop) {}

  /** A part that is being started on a thread of its own. */
  final class Pending<T extends AutoCloseable> {
    private final String name;
    private final TaskScope scope;
    private final TaskScope.Task<T> task;

    private Pending(String name, Starter<T> starter) {
      this.name = name;
      this.scope = TaskScope.ofPlatformThreads("start");
      this.task = scope.fork(starter::start);
    }

    /** Takes its place among the parts now; a failure is that of {@link Parts#start}. */
    T await() throws InterruptedException {
      pending.remove(this);
      return start(
          name,
          () -> {
            try (scope) {
              scope.join();
              return task.result();
            }
          });
    }

    private void abandon() {
      scope.close();
      try {
        started.push(new Part(name, task.result()));
      } catch (IllegalStateException _) {
        // it was not started, and why matters no more
      }
    }
  }

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

  /**
   * Begins to start a part that needs none of those that are started until it is awaited. To be
   * used for those that share little code with them, so that no two threads wait for each other's
   * classes.
   */
  <T extends AutoCloseable> Pending<T> begin(String name, Starter<T> starter) {
    var begun = new Pending<>(name, starter);
    pending.add(begun);
    return begun;
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
    pending.forEach(Pending::abandon);
    pending.clear();
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
