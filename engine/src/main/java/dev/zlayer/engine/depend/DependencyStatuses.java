package dev.zlayer.engine.depend;

import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.Watched;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;

/** Where the services and jobs of one deployment tell how they stand. */
public final class DependencyStatuses {
  private final Watched<Map<String, DependencyStatus>> signals = new Watched<>(Map.of());

  /** Tells those who listen, unless it is what was told before. */
  public void publish(String name, DependencyStatus signal) {
    if (!find(name).equals(Optional.of(signal))) {
      signals.update(
          before -> {
            var after = new TreeMap<>(before);
            after.put(name, signal);
            return Collections.unmodifiableMap(after);
          });
    }
  }

  public Map<String, DependencyStatus> signals() {
    return signals.now();
  }

  public Optional<DependencyStatus> find(String name) {
    return Optional.ofNullable(signals().get(name));
  }

  /** Calls {@code listener} after every change, on the thread that made it, until closed. */
  public KeyedLock.Held onChange(Runnable listener) {
    return signals.onChange(listener);
  }

  public void await(
      Predicate<Map<String, DependencyStatus>> wanted, Deadline deadline, String doing)
      throws InterruptedException {
    Map<String, DependencyStatus> _ = signals.await(wanted, deadline, doing);
  }
}
