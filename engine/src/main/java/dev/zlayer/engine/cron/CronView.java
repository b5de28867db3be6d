package dev.zlayer.engine.cron;

import dev.zlayer.engine.job.JobKey;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/** What everybody may see of the schedules; written by their owner. */
final class CronView {
  private volatile Map<JobKey, CronStatus> all = Map.of();

  void publish(NavigableMap<JobKey, CronEntry> entries) {
    var fresh = new TreeMap<JobKey, CronStatus>();
    entries.forEach((key, entry) -> fresh.put(key, entry.status()));
    all = Collections.unmodifiableMap(fresh);
  }

  List<CronStatus> list() {
    return List.copyOf(all.values());
  }

  Optional<CronStatus> find(JobKey job) {
    return Optional.ofNullable(all.get(job));
  }
}
