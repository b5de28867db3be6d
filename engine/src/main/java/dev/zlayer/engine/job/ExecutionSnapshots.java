package dev.zlayer.engine.job;

import dev.zlayer.task.Deadline;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What everybody may see of the executions: only what is durable. Written by the loop, read from
 * any thread without waiting for it.
 */
final class ExecutionSnapshots {
  private final Map<ExecutionId, Execution> executions = new ConcurrentSkipListMap<>();
  private final ConcurrentMap<ExecutionId, Waiters> waiting = new ConcurrentHashMap<>();

  /** Those who wait for the same execution; a change of another one does not wake them. */
  private static final class Waiters {
    private int count; // changed only within the map's own methods
  }

  void publish(ExecutionId id, Optional<Execution> execution) {
    if (execution.isPresent()) {
      executions.put(id, execution.get());
    } else {
      executions.remove(id);
    }
    Waiters waiters = waiting.get(id);
    if (waiters != null) {
      synchronized (waiters) {
        waiters.notifyAll();
      }
    }
  }

  Optional<Execution> find(ExecutionId id) {
    return Optional.ofNullable(executions.get(id));
  }

  Collection<Execution> all() {
    return List.copyOf(executions.values());
  }

  /**
   * Blocks until the execution is as {@code wanted} or is not known; empty when the deadline passed
   * first.
   */
  Optional<Optional<Execution>> await(
      ExecutionId id, Predicate<Execution> wanted, Deadline deadline) throws InterruptedException {
    Waiters waiters = waiting.compute(id, (_, known) -> joined(known));
    try {
      synchronized (waiters) {
        while (true) {
          Optional<Execution> now = find(id);
          if (now.isEmpty() || wanted.test(now.get())) {
            return Optional.of(now);
          }
          if (deadline.passed()) {
            return Optional.empty();
          }
          waiters.wait(Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline.leftNanos())));
        }
      }
    } finally {
      waiting.computeIfPresent(id, (_, known) -> --known.count == 0 ? null : known);
    }
  }

  private static Waiters joined(@Nullable Waiters known) {
    Waiters waiters = known == null ? new Waiters() : known;
    waiters.count++;
    return waiters;
  }
}
