package dev.zlayer.daemon.standalone;

import dev.zlayer.engine.health.HealthPolicy;
import dev.zlayer.engine.health.Probe;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.HealthCheck;
import dev.zlayer.spec.service.HealthSpec;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * How a single container is checked. Written on one of its labels, which lives and dies with it.
 *
 * @param action what to do when it becomes unhealthy
 * @param startInterval the longest time between two checks until one has succeeded
 */
public record ContainerHealth(
    Probe probe,
    Duration startGrace,
    Duration interval,
    Duration timeout,
    int retries,
    HealthSpec.OnUnhealthy action,
    Optional<Duration> startInterval) {
  private static final String LABEL = "com.zlayer.health";

  /** Empty when nobody asked for checks. */
  public static Optional<ContainerHealth> of(ServiceSpec spec) {
    return spec.lifecycle()
        .health()
        .filter(health -> !(health.check() instanceof HealthCheck.None))
        .map(health -> of(Probe.of(spec), health));
  }

  /** What is tried, and how often. */
  public static ContainerHealth of(Probe probe, HealthSpec health) {
    requirePositive("interval", health.interval());
    requirePositive("timeout", health.timeout());
    return new ContainerHealth(
        probe,
        health.startGrace(),
        health.interval(),
        health.timeout(),
        health.retries(),
        health.onUnhealthy(),
        Optional.empty());
  }

  /** The same with checks in other intervals until one has succeeded. */
  public ContainerHealth startingEvery(Duration interval) {
    return new ContainerHealth(
        probe, startGrace, this.interval, timeout, retries, action, Optional.of(interval));
  }

  private static void requirePositive(String name, Duration value) {
    if (!value.isPositive()) {
      throw new AgentException.InvalidSpec("health.%s has to be above 0".formatted(name));
    }
  }

  /** What {@link HealthPolicy} decides by. */
  HealthSpec policy() {
    return new HealthSpec(new HealthCheck.None(), startGrace, interval, timeout, retries, action);
  }

  Map<String, String> labels() {
    return Map.of(LABEL, JsonText.print(RecordJson.write(this)));
  }

  public static Optional<ContainerHealth> read(Map<String, String> labels) {
    return Optional.ofNullable(labels.get(LABEL))
        .map(text -> RecordJson.read(JsonText.parse(text), ContainerHealth.class));
  }
}
