package dev.zlayer.engine.job;

import dev.zlayer.spec.job.RetentionSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Which results of one job are dropped. Pure. Age decides first; when there are still too many, or
 * they are too large, successful ones go before others and older ones before newer.
 */
final class Retention {
  private static final Comparator<Execution> FIRST_TO_GO =
      Comparator.comparing((Execution execution) -> !succeeded(execution))
          .thenComparing(Execution::id);

  private Retention() {}

  static List<Execution> expired(List<Execution> finished, RetentionSpec spec, Instant now) {
    var expired = new ArrayList<Execution>();
    var kept = new ArrayList<Execution>();
    for (Execution execution : finished) {
      Duration age = succeeded(execution) ? spec.age() : spec.failedAge();
      boolean old = execution.finishedAt().map(end -> !end.plus(age).isAfter(now)).orElse(false);
      (old ? expired : kept).add(execution);
    }
    kept.sort(FIRST_TO_GO);
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
