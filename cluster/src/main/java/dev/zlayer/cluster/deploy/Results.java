package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterExecution.Progress;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.task.Deadline;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** How executions ended for which others wait; they are read one by one, as few are asked for. */
final class Results implements JobPlan.Ends {
  private final ClusterStore store;
  private final Map<String, Progress> ended = new HashMap<>();

  Results(ClusterStore store) {
    this.store = store;
  }

  /** Reads those that are new, and forgets all others. */
  void load(ClusterState state, Deadline deadline) throws InterruptedException {
    Set<String> needed = new HashSet<>();
    for (ClusterExecution one : state.executions().values()) {
      if (one.node().isEmpty()) {
        for (ClusterExecution.Need need : one.needs()) {
          if (!state.executions().containsKey(need.live(one.deployment()))) {
            needed.add(need.result(one.deployment()));
          }
        }
      }
    }
    state
        .dependencies()
        .forEach(
            (key, run) -> {
              String job = key.substring(StoreKeys.DEPENDENCIES.length());
              int slash = job.indexOf('/');
              var need = new ClusterExecution.Need(job.substring(slash + 1), run.number());
              String deployment = job.substring(0, slash);
              if (run.open() && !state.executions().containsKey(need.live(deployment))) {
                needed.add(need.result(deployment));
              }
            });
    ended.keySet().retainAll(needed);
    for (String key : needed) {
      if (!ended.containsKey(key)) {
        ended.put(key, read(key, deadline));
      }
    }
  }

  /** What is not kept any more cannot be said to have completed. */
  private Progress read(String key, Deadline deadline) throws InterruptedException {
    return store
        .find(key, deadline)
        .flatMap(entry -> ClusterExecution.readable(entry.value()))
        .flatMap(ClusterExecution::progress)
        .orElseGet(
            () ->
                new Progress(
                    ClusterExecution.LOST,
                    Optional.empty(),
                    Optional.of("its result is not kept any more"),
                    0,
                    Optional.empty(),
                    Optional.empty()));
  }

  @Override
  public Optional<Progress> find(String deployment, ClusterExecution.Need need) {
    return Optional.ofNullable(ended.get(need.result(deployment)));
  }

  void clear() {
    ended.clear();
  }
}
