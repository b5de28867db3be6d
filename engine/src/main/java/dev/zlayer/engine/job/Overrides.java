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
 * @param gpus names of devices in place of a number of them
 */
public record Overrides(
    Optional<List<String>> args,
    Map<String, String> env,
    Optional<Duration> deadline,
    List<String> gpus) {
  public static final Overrides NONE = new Overrides(Optional.empty(), Map.of(), Optional.empty());

  public Overrides {
    args = args.map(List::copyOf);
    env = Map.copyOf(env);
    gpus = List.copyOf(gpus);
  }

  public Overrides(
      Optional<List<String>> args, Map<String, String> env, Optional<Duration> deadline) {
    this(args, env, deadline, List.of());
  }

  /** The same on these GPUs. */
  public Overrides on(List<String> devices) {
    return new Overrides(args, env, deadline, devices);
  }

  /** Whether the container is the one that the job describes. */
  boolean usual() {
    return args.isEmpty() && env.isEmpty() && gpus.isEmpty();
  }
}
