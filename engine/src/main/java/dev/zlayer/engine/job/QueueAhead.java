package dev.zlayer.engine.job;

import java.time.Instant;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Which waiting executions are the next of their jobs, so that their containers can be made while
 * those before them run; and whose containers are needed in a moment.
 *
 * @param next the first one of each job that only waits for a place, or for the execution before
 * @param starting what executions want that have got their place and have no container yet
 */
record QueueAhead(Map<WarmTarget, ExecutionId> next, Set<WarmTarget> starting) {
  static final QueueAhead NONE = new QueueAhead(Map.of(), Set.of());

  /** Jobs of a node for which a container is made at the same time. */
  static final int MOST_JOBS = 16;

  /** Executions further back are not the next of anything for a while. */
  static final int MOST_READ = 256;

  QueueAhead {
    next = Map.copyOf(next);
    starting = Set.copyOf(starting);
  }

  /**
   * Pure.
   *
   * @param waiting in the order of their turn
   * @param active those that have a place
   * @param ended whether an execution has ended
   */
  static QueueAhead of(
      Collection<Execution> waiting,
      Collection<Execution> active,
      Function<JobKey, Optional<JobDefinition>> jobs,
      Predicate<ExecutionId> ended,
      Instant now) {
    Map<JobKey, Boolean> allowed = new LinkedHashMap<>();
    Predicate<Execution> able =
        execution ->
            allowed.computeIfAbsent(
                execution.job(), job -> jobs.apply(job).filter(AheadRule::allows).isPresent());
    var next = new LinkedHashMap<WarmTarget, ExecutionId>();
    var seen = new LinkedHashSet<JobKey>();
    int read = 0;
    for (Execution execution : waiting) {
      if (seen.size() == MOST_JOBS || read++ == MOST_READ) {
        break;
      }
      if (onlyItsTurn(execution, ended, now)
          && !seen.contains(execution.job())
          && able.test(execution)) {
        seen.add(execution.job());
        next.put(WarmTarget.of(execution), execution.id());
      }
    }
    var starting = new LinkedHashSet<WarmTarget>();
    for (Execution execution : active) {
      if (execution.status() instanceof ExecutionStatus.Initializing && able.test(execution)) {
        starting.add(WarmTarget.of(execution));
      }
    }
    return new QueueAhead(next, starting);
  }

  /** A retry that has to pause, and one that needs others which may fail, may never begin. */
  private static boolean onlyItsTurn(
      Execution execution, Predicate<ExecutionId> ended, Instant now) {
    return !execution.cancelRequested()
        && execution.notBefore().map(time -> !time.isAfter(now)).orElse(true)
        && execution.needs().stream().allMatch(ended);
  }
}
