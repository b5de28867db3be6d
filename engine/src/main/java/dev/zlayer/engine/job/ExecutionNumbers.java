package dev.zlayer.engine.job;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The last number that was given to an execution of each job. A number is never given twice, also
 * when the execution that had it is not kept any longer. Owned by one thread.
 */
final class ExecutionNumbers {
  static final String COUNTERS = "job.counter";

  /** One number for all jobs of the node, as earlier versions counted. */
  static final String OF_NODE = "number";

  private final Map<JobKey, Long> last = new HashMap<>();
  private final Map<JobKey, Long> before = new HashMap<>();
  private final Set<JobKey> missing = new HashSet<>();
  private boolean ofNode;

  /**
   * Reads the counters. One that is damaged, or that a store of an earlier version does not have,
   * goes on after the highest number that is kept of its job.
   */
  static ExecutionNumbers load(StateStore store, List<Execution> stored) {
    var numbers = new ExecutionNumbers();
    Map<String, Long> counters = new HashMap<>();
    for (StateStore.Entry entry : store.list(COUNTERS, "")) {
      try {
        counters.put(
            entry.key(), Long.parseLong(new String(entry.value(), StandardCharsets.UTF_8)));
      } catch (NumberFormatException _) {
        // the executions that are kept know it
      }
    }
    numbers.ofNode = counters.containsKey(OF_NODE);
    counters.forEach(
        (key, number) -> {
          int slash = key.indexOf('/');
          if (slash > 0) {
            numbers.last.put(new JobKey(key.substring(0, slash), key.substring(slash + 1)), number);
          }
        });
    for (Execution execution : stored) {
      if (execution.number() > numbers.last.getOrDefault(execution.job(), 0L)) {
        numbers.last.put(execution.job(), execution.number());
        numbers.missing.add(execution.job());
      }
    }
    return numbers;
  }

  long next(JobKey job) {
    long number = last.getOrDefault(job, 0L);
    before.putIfAbsent(job, number);
    last.put(job, number + 1);
    return number + 1;
  }

  long take(JobKey job, long number) {
    long highest = last.getOrDefault(job, 0L);
    before.putIfAbsent(job, highest);
    last.put(job, Math.max(highest, number));
    return number;
  }

  /** What has to become durable, before or together with any other change. */
  List<Change.Write> writes() {
    var writes = new ArrayList<Change.Write>();
    var changed = new HashSet<>(before.keySet());
    changed.addAll(missing);
    for (JobKey job : changed) {
      byte[] text = Long.toString(last.getOrDefault(job, 0L)).getBytes(StandardCharsets.UTF_8);
      writes.add(new Change.Put(COUNTERS, job.deployment() + "/" + job.name(), text));
    }
    if (ofNode) {
      writes.add(new Change.Delete(COUNTERS, OF_NODE));
    }
    return writes;
  }

  /** It is durable. */
  void accept() {
    before.clear();
    missing.clear();
    ofNode = false;
  }

  /** It could not be made durable: the numbers given since the last time are free again. */
  void forget() {
    last.putAll(before);
    before.clear();
  }
}
