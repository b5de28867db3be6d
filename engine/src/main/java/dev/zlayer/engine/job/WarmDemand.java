package dev.zlayer.engine.job;

import dev.zlayer.engine.job.WarmPlanner.Wanted;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * How many containers of each kind there shall be, as jobs ask for them, and as far as the queue
 * and the schedules say what begins next. Pure.
 */
final class WarmDemand {
  private static final Need NONE = new Need(0, 0, Set.of());

  /** Somebody asked for it, or it is only kept; that is nothing new each time. */
  private static final String ALWAYS = "";

  private final Map<JobKey, JobDefinition> jobs;
  private final Map<WarmTarget, Need> needs = new HashMap<>();

  /**
   * Containers of one kind.
   *
   * @param uses what they are for; as long as that stays the same they count as unused
   */
  record Need(int make, int spare, Set<String> uses) {
    private Need plus(int more, int spares, String use) {
      Set<String> all = new HashSet<>(uses);
      all.add(use);
      return new Need(Math.max(make, more), spare + spares, Set.copyOf(all));
    }

    private Wanted of(Wanted before, Instant now) {
      return (before.uses().containsAll(uses) ? before : before.usedAt(now))
          .counting(make, spare, uses);
    }
  }

  private WarmDemand(Map<JobKey, JobDefinition> jobs) {
    this.jobs = jobs;
  }

  /**
   * Brings what was wanted before up to date.
   *
   * @param jobs those whose containers may be made ahead
   */
  static Map<WarmTarget, Wanted> of(
      Map<JobKey, JobDefinition> jobs,
      QueueAhead queue,
      Map<JobKey, Instant> schedule,
      Map<WarmTarget, Wanted> before,
      Instant now) {
    var demand = new WarmDemand(jobs);
    for (JobDefinition job : jobs.values()) {
      if (job.job().ahead() > 0) {
        demand.add(WarmTarget.usual(job.key()), job.job().ahead(), 0, ALWAYS);
      }
    }
    queue.next().forEach((target, first) -> demand.add(target, 1, 0, first.text()));
    queue.starting().forEach(target -> demand.add(target, 0, 1, ALWAYS));
    schedule.forEach((job, time) -> demand.add(WarmTarget.usual(job), 1, 0, time.toString()));
    Map<WarmTarget, Wanted> wanted = new HashMap<>();
    demand.needs.forEach(
        (target, need) ->
            wanted.put(target, need.of(before.getOrDefault(target, Wanted.of(target, now)), now)));
    return wanted;
  }

  private void add(WarmTarget target, int make, int spare, String use) {
    if (jobs.containsKey(target.job())) {
      needs.put(target, needs.getOrDefault(target, NONE).plus(make, spare, use));
    }
  }
}
