package dev.zlayer.engine.job;

import dev.zlayer.task.Deadline;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;

/**
 * What everybody may see of the executions: only what is durable. Written by the loop, read from
 * any thread without waiting for it.
 */
final class ExecutionView {
  private final Map<ExecutionId, Execution> executions = new ConcurrentSkipListMap<>();
  private boolean ended; // the loop alone looks at it

  void publish(ExecutionId id, Optional<Execution> execution) {
    ended |= execution.map(known -> known.status().finished()).orElse(true);
    if (execution.isPresent()) {
      executions.put(id, execution.get());
    } else {
      executions.remove(id);
    }
  }

  /** Wakes those who wait for an end, if there was one since the last time. */
  synchronized void changed() {
    if (ended) {
      ended = false;
      notifyAll();
    }
  }

  Optional<Execution> find(ExecutionId id) {
    return Optional.ofNullable(executions.get(id));
  }

  Collection<Execution> all() {
    return List.copyOf(executions.values());
  }

  /** Blocks until the execution has ended or is not known; empty when the deadline passed first. */
  synchronized Optional<Optional<Execution>> awaitEnd(ExecutionId id, Deadline deadline)
      throws InterruptedException {
    while (true) {
      Optional<Execution> now = find(id);
      if (now.isEmpty() || now.get().status().finished()) {
        return Optional.of(now);
      }
      if (deadline.passed()) {
        return Optional.empty();
      }
      wait(Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline.leftNanos())));
    }
  }
}
