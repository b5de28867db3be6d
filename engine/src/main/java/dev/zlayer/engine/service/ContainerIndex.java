package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Saturating;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * The containers of all services by service. One owner lists the runtime now and then, so that what
 * somebody changed behind our back is noticed, and wakes only the services that it concerns.
 */
public final class ContainerIndex implements AutoCloseable {
  private static final Duration PERIOD = Duration.ofSeconds(30);
  private static final Backoff RETRY_BACKOFF =
      new Backoff(Duration.ofMillis(20), Duration.ofSeconds(5), 2);

  /** Of a service that has no containers. */
  private static final Entry NONE = new Entry(1, List.of(), Map.of());

  private final Map<ServiceKey, Runnable> watchers = new ConcurrentHashMap<>();
  private final Owner<Lister> owner;
  private volatile Optional<Map<ServiceKey, Entry>> entries = Optional.empty();
  private volatile Optional<AgentException> problem = Optional.empty();

  /** Touched by the owner only. */
  private long listings;

  /**
   * The containers of one service.
   *
   * @param number of the listing that was the first to find them so; counted from 1
   */
  record Entry(
      long number, List<Container> containers, Map<ContainerId, ContainerStatus.Phase> phases) {
    Entry {
      containers = List.copyOf(containers);
      phases = Map.copyOf(phases);
    }
  }

  private ContainerIndex(ContainerRuntime runtime, TimeSource clock, Supervisor supervisor) {
    this.owner =
        Owner.of("container index", clock, supervisor, (_, _) -> new Lister(runtime, clock));
  }

  /** Lists once; when that fails it is tried again. */
  public static ContainerIndex open(
      ContainerRuntime runtime, TimeSource clock, Supervisor supervisor) {
    var index = new ContainerIndex(runtime, clock, supervisor);
    try {
      index.owner.start();
      return index;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while containers were listed", e);
    }
  }

  /**
   * What the last listing found of a service; what its own controller did since may be missing.
   *
   * @throws AgentException they could not be listed yet; whoever watches is called when they are
   */
  Entry find(ServiceKey service) {
    Map<ServiceKey, Entry> known =
        entries.orElseThrow(
            () ->
                problem.orElseGet(
                    () -> new AgentException.Internal("containers were not listed yet")));
    return known.getOrDefault(service, NONE);
  }

  /** Calls {@code changed} when a listing finds other containers, or in another state. */
  KeyedLock.Held watch(ServiceKey service, Runnable changed) {
    watchers.put(service, changed);
    return () -> watchers.remove(service, changed);
  }

  /** Looks at the clock again; for clocks that do not go by themselves. */
  public void wake() {
    owner.wake();
  }

  @Override
  public void close() {
    owner.close();
  }

  private final class Lister implements Owner.State {
    private final ContainerRuntime runtime;
    private final TimeSource clock;
    private Instant next = Instant.MIN;
    private int failures;

    Lister(ContainerRuntime runtime, TimeSource clock) {
      this.runtime = runtime;
      this.clock = clock;
      list(clock.instant());
    }

    @Override
    public Duration round() {
      Instant now = clock.instant();
      if (!now.isBefore(next)) {
        list(now);
      }
      return Saturating.between(now, next);
    }

    @Override
    public void clockMoved(Duration by) {
      next = Saturating.plus(next, by);
    }

    private void list(Instant now) {
      try {
        Optional<Map<ServiceKey, Entry>> before = entries;
        Map<ServiceKey, Entry> fresh = entries(runtime.list(), before.orElse(Map.of()));
        entries = Optional.of(fresh);
        problem = Optional.empty();
        failures = 0;
        next = now.plus(PERIOD);
        watchers.forEach(
            (key, changed) -> {
              long seen = before.map(old -> old.getOrDefault(key, NONE).number()).orElse(0L);
              if (fresh.getOrDefault(key, NONE).number() != seen) {
                changed.run();
              }
            });
      } catch (RuntimeException e) {
        next = now.plus(RETRY_BACKOFF.delay(failures++));
        problem =
            Optional.of(
                e instanceof AgentException ours
                    ? ours
                    : new AgentException.Internal("containers cannot be listed: " + e, e));
      }
    }

    /** A service whose containers are as before keeps its entry. */
    private Map<ServiceKey, Entry> entries(List<Container> listed, Map<ServiceKey, Entry> before) {
      var byService = new HashMap<ServiceKey, List<Container>>();
      for (Container container : listed) {
        if (container.spec().labels().containsKey(TrackedContainer.HASH)) {
          ContainerId id = container.id();
          byService
              .computeIfAbsent(
                  new ServiceKey(id.deployment(), id.service()), _ -> new ArrayList<>())
              .add(container);
        }
      }
      listings++;
      var entries = new HashMap<ServiceKey, Entry>();
      byService.forEach(
          (key, containers) -> {
            Map<ContainerId, ContainerStatus.Phase> phases =
                containers.stream()
                    .collect(
                        Collectors.toMap(
                            Container::id,
                            container -> container.status().phase(),
                            (one, _) -> one));
            Entry old = before.getOrDefault(key, NONE);
            entries.put(
                key, phases.equals(old.phases()) ? old : new Entry(listings, containers, phases));
          });
      return entries;
    }
  }
}
