package dev.zlayer.engine.job;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What one trigger wants otherwise than the job says.
 *
 * @param args instead of the job's
 * @param env over the job's
 */
public record Overrides(
    Optional<List<String>> args, Map<String, String> env, Optional<Duration> deadline) {
  public static final Overrides NONE = new Overrides(Optional.empty(), Map.of(), Optional.empty());

  public Overrides {
    args = args.map(List::copyOf);
    env = Map.copyOf(env);
  }

  /** Whether the container is the one that the job describes. */
  boolean usual() {
    return args.isEmpty() && env.isEmpty();
  }
}
