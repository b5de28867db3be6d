package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.port.Container;
import dev.zlayer.port.LogReader;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/** Counts who reads the output of which container, so that none is removed under a reader. */
final class OutputReaders {
  private final Map<ContainerId, Integer> open = new ConcurrentHashMap<>();

  boolean reading(ContainerId id) {
    return open.containsKey(id);
  }

  LogReader open(Container container, LogQuery query) {
    LogReader reader = container.logs(query);
    open.merge(container.id(), 1, Integer::sum);
    var counted = new AtomicBoolean(true);
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
        if (counted.getAndSet(false)) {
          open.computeIfPresent(container.id(), (_, count) -> count > 1 ? count - 1 : null);
        }
      }
    };
  }
}
