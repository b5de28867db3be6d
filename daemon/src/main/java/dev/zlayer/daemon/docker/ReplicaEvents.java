package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.Outcome;
import dev.zlayer.engine.service.ReplicaListener;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;

/** Reports what happens to the replicas of deployments, as events of their containers. */
public final class ReplicaEvents implements ReplicaListener {
  private final RecentEvents recent;

  /** What one that is removed cannot be asked any more. */
  private final Map<ContainerId, Known> known = new ConcurrentHashMap<>();

  private record Known(
      String id, Map<String, String> attributes, AtomicReference<Optional<Outcome>> ended) {
    static Known of(Container container) {
      return new Known(
          DockerContainerIndex.id(container),
          RecentEvents.attributes(container),
          new AtomicReference<>(Optional.empty()));
    }
  }

  public ReplicaEvents(InstantSource clock) {
    this.recent = new RecentEvents(clock);
  }

  /** Where they are recorded, among others. */
  RecentEvents recent() {
    return recent;
  }

  @Override
  public void happened(Step step, Container container, Optional<Outcome> outcome) {
    Known one;
    try {
      one = known.computeIfAbsent(container.id(), _ -> Known.of(container));
    } catch (AgentException _) {
      return; // removed by somebody else, and nothing is known of it
    }
    synchronized (one) { // so that nothing is reported before the end that it follows
      switch (step) {
        case CREATED -> record(one, "create");
        case STARTED -> record(one, "start");
        case EXITED -> exited(one, outcome);
        case STOPPED -> record(one, "stop");
        case REMOVING -> {}
        case REMOVED -> {
          record(one, "destroy");
          known.remove(container.id());
        }
        case HEALTHY -> record(one, "health_status: healthy");
        case UNHEALTHY -> record(one, "health_status: unhealthy");
      }
    }
  }

  /** Whoever stops one and whoever watches it see the same end. */
  private void exited(Known one, Optional<Outcome> outcome) {
    if (outcome.isPresent() && !outcome.equals(one.ended.getAndSet(outcome))) {
      var attributes = new TreeMap<>(one.attributes);
      attributes.put("exitCode", String.valueOf(ContainerFacts.exitCode(outcome.get().status())));
      recent.record("container", "die", one.id, attributes);
    }
  }

  private void record(Known one, String action) {
    recent.record("container", action, one.id, one.attributes);
  }
}
