package dev.zlayer.daemon;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Supervisor;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

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

  /** "ok", or why it fails. */
  static String trouble(Supplier<?> attempt) {
    try {
      Object _ = attempt.get();
      return "ok";
    } catch (RuntimeException e) {
      return e instanceof AgentException ? String.valueOf(e.getMessage()) : e.toString();
    }
  }
}
