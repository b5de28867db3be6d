package dev.zlayer.engine.job;

import dev.zlayer.spec.job.RetentionSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Which results of one job are dropped. Pure. Age decides first; when there are still too many, or
 * they are too large, successful ones go before others and older ones before newer; the newest of
 * all goes last, because it is what people take for the state of the job.
 */
final class Retention {
  private static final Comparator<Execution> FIRST_TO_GO =
      Comparator.comparing((Execution execution) -> !succeeded(execution))
          .thenComparing(Execution::id);

  private Retention() {}

  /** Whether there is something to drop whatever the time is. */
  static boolean exceeded(Ledger.Kept kept, RetentionSpec spec) {
    return kept.count() > spec.count() || kept.bytes() > spec.bytes().bytes();
  }

  static List<Execution> expired(List<Execution> finished, RetentionSpec spec, Instant now) {
    var expired = new ArrayList<Execution>();
    var kept = new ArrayList<Execution>();
    for (Execution execution : finished) {
      Duration age = succeeded(execution) ? spec.age() : spec.failedAge();
      boolean old = execution.finishedAt().map(end -> !end.plus(age).isAfter(now)).orElse(false);
      (old ? expired : kept).add(execution);
    }
    Optional<Execution> newest = kept.stream().max(Comparator.comparing(Execution::id));
    kept.sort(FIRST_TO_GO);
    newest.ifPresent(
        last -> {
          kept.remove(last);
          kept.add(last);
        });
    long bytes = kept.stream().mapToLong(Execution::bytes).sum();
    int left = kept.size();
    for (Execution execution : kept) {
      if (left <= spec.count() && bytes <= spec.bytes().bytes()) {
        break;
      }
      expired.add(execution);
      left--;
      bytes -= execution.bytes();
    }
    return expired;
  }

  private static boolean succeeded(Execution execution) {
    return execution.status() instanceof ExecutionStatus.Completed;
  }
}
