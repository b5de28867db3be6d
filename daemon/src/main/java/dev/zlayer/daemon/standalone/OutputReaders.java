package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.port.Container;
import dev.zlayer.port.LogReader;
import dev.zlayer.task.Deadline;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** Counts who reads the output of which container, so that none is removed under a reader. */
public final class OutputReaders {
  private final Map<ContainerId, Integer> open = new HashMap<>();
  private final Map<ContainerId, Integer> attached = new HashMap<>();

  /** Blocks until nobody reads the output of a container. */
  void awaitNone(ContainerId id) throws InterruptedException {
    synchronized (open) {
      while (open.containsKey(id)) {
        open.wait();
      }
    }
  }

  /** Returns when all who are attached have got everything, or the deadline has passed. */
  public void awaitAttached(ContainerId id, Deadline deadline) throws InterruptedException {
    synchronized (open) {
      while (attached.containsKey(id) && !deadline.passed()) {
        open.wait(Math.max(1, deadline.left().toMillis()));
      }
    }
  }

  /** Counts as a reader who is attached, until it is closed. */
  public OutputHold attach(ContainerId id) {
    OutputHold reading = hold(id);
    OutputHold attachment = count(attached, id);
    return () -> {
      attachment.close();
      reading.close();
    };
  }

  /** Counts as a reader until it is closed. */
  OutputHold hold(ContainerId id) {
    return count(open, id);
  }

  private OutputHold count(Map<ContainerId, Integer> readers, ContainerId id) {
    synchronized (open) {
      readers.merge(id, 1, Integer::sum);
    }
    var counted = new AtomicBoolean(true);
    return () -> {
      if (counted.getAndSet(false)) {
        synchronized (open) {
          readers.computeIfPresent(id, (_, number) -> number > 1 ? number - 1 : null);
          open.notifyAll();
        }
      }
    };
  }

  LogReader open(Container container, LogQuery query) {
    LogReader reader = container.logs(query);
    OutputHold hold = hold(container.id());
    return new LogReader() {
      @Override
      public Optional<LogRecord> next() throws InterruptedException {
        return reader.next();
      }

      @Override
      public Optional<LogRecord> next(Runnable waiting) throws InterruptedException {
        return reader.next(waiting);
      }

      @Override
      public boolean gap() {
        return reader.gap();
      }

      @Override
      public boolean incomplete() {
        return reader.incomplete();
      }

      @Override
      public void close() {
        reader.close();
        hold.close();
      }
    };
  }
}
