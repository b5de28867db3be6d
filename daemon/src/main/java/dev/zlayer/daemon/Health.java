package dev.zlayer.daemon;

import dev.zlayer.task.Supervisor;
import java.util.List;
import java.util.Map;

/**
 * Whether every part works; for those that do not, why.
 *
 * @param owners everything that runs by itself: the state store, jobs, schedules, each service
 */
public record Health(boolean ready, Map<String, String> parts, List<Supervisor.Status> owners) {
  public Health {
    parts = Map.copyOf(parts);
    owners = List.copyOf(owners);
  }
}
