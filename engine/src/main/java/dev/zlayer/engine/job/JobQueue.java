package dev.zlayer.engine.job;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;

/** The order in which waiting executions get their turn: by priority, then by age. Pure. */
final class JobQueue {
  static final Comparator<Execution> ORDER =
      Comparator.comparingInt((Execution execution) -> -execution.priority())
          .thenComparing(Execution::id);

  private JobQueue() {}

  static List<Execution> waiting(Collection<Execution> executions) {
    return executions.stream()
        .filter(execution -> execution.status() instanceof ExecutionStatus.Pending)
        .sorted(ORDER)
        .toList();
  }
}
