package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.engine.health.HealthStatus;
import dev.zlayer.engine.health.Prober;
import dev.zlayer.port.Container;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The checks of all single containers that asked for them and run. */
final class HealthChecks implements AutoCloseable {
  private final TimeSource time;
  private final Supervisor supervisor;
  private final Listener listener;
  private final Prober prober = new Prober();
  private final Map<ContainerId, HealthMonitor.Handle> monitors = new ConcurrentHashMap<>();
  private final Set<ContainerId> unhealthy = ConcurrentHashMap.newKeySet();

  /** Who acts on a change of health. */
  interface Listener {
    void changed(Container container, ContainerHealth rules, HealthStatus now)
        throws InterruptedException;
  }

  HealthChecks(TimeSource time, Supervisor supervisor, Listener listener) {
    this.time = time;
    this.supervisor = supervisor;
    this.listener = listener;
  }

  /** Checks a run that has just begun, or that an earlier agent began. */
  void begin(Container container) {
    end(container.id());
    Optional<ContainerHealth> rules = ContainerHealth.read(container.spec().labels());
    if (rules.isPresent()) {
      monitors.put(
          container.id(),
          HealthMonitor.start(
              container,
              rules.get(),
              time,
              prober,
              supervisor,
              now -> listener.changed(container, rules.get(), now)));
    }
  }

  void end(ContainerId id) {
    HealthMonitor.Handle monitor = monitors.remove(id);
    if (monitor != null) {
      monitor.close();
    }
  }

  Optional<HealthStatus> find(ContainerId id) {
    return Optional.ofNullable(monitors.get(id)).map(monitor -> monitor.status().get());
  }

  /** Those of the last few checks, oldest first. */
  List<HealthResult> results(ContainerId id) {
    HealthMonitor.Handle monitor = monitors.get(id);
    return monitor == null ? List.of() : Objects.requireNonNull(monitor.results().get());
  }

  /** Its run is ended because it is unhealthy, and another one is wanted. */
  void noteUnhealthy(ContainerId id) {
    unhealthy.add(id);
  }

  boolean takeUnhealthy(ContainerId id) {
    return unhealthy.remove(id);
  }

  @Override
  public void close() {
    List.copyOf(monitors.keySet()).forEach(this::end);
  }
}
