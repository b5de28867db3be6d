package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.Stats;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.Rotation;
import dev.zlayer.scale.Autoscaler;
import dev.zlayer.spec.service.ScaleSpec;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;

/** Reads the load of a service whose number of replicas follows it. Owned by the loop. */
final class LoadMeter {
  private static final Duration INTERVAL = Duration.ofSeconds(10);
  private static final double PERCENT = 100;
  private static final double MILLIS = 1000;
  private static final ScaleSpec.Targets NO_TARGETS =
      new ScaleSpec.Targets(Optional.empty(), Optional.empty(), Optional.empty());

  /** What a container has used, and how many cores it may use. */
  private record Reading(ContainerId id, Stats stats, double cores) {}

  /** Whoever counts requests. */
  @FunctionalInterface
  interface RequestCount {
    Optional<Rotation.Requests> read() throws InterruptedException;
  }

  private Optional<Rotation.Requests> requests = Optional.empty();
  private Instant requestsAt = Instant.EPOCH;
  private Autoscaler.Memory memory = Autoscaler.Memory.NONE;
  private Map<ContainerId, Reading> before = Map.of();
  private Instant next = Instant.MIN;

  /** A reading, when it is time for one. */
  Optional<Effect> due(ServiceReconciler reconciler, Instant now) {
    if (scale(reconciler).isEmpty() || reconciler.desired.leaving() != DesiredState.Leaving.NO) {
      return Optional.empty();
    }
    if (now.isBefore(next)) {
      reconciler.changes.lookAt(next);
      return Optional.empty();
    }
    next = now.plus(INTERVAL);
    reconciler.changes.lookAt(next);
    List<Container> ready =
        reconciler.lives.values().stream()
            .filter(TrackedContainer::ready)
            .flatMap(live -> Optional.ofNullable(live.handle).stream())
            .toList();
    if (ready.isEmpty()) {
      memory = Autoscaler.Memory.NONE.changed(memory.changedAt()); // what was measured has ended
      requests = Optional.empty();
    }
    boolean counted = scale(reconciler).flatMap(one -> one.targets().rps()).isPresent();
    return ready.isEmpty() ? Optional.empty() : Optional.of(new Effect.Measure(ready, counted));
  }

  /** The wall clock was set: the next reading is as far away as before. */
  void clockMoved(Duration by) {
    next = next.equals(Instant.MIN) ? next : Saturating.plus(next, by);
    requestsAt = Saturating.plus(requestsAt, by);
    memory = memory.changed(memory.changedAt().map(time -> Saturating.plus(time, by)));
  }

  /** Only a number that the file leaves to the load, and tells what to aim at. */
  private static Optional<ScaleSpec.Adaptive> scale(ServiceReconciler reconciler) {
    boolean grouped = !reconciler.desired.lifecycle().replicaGroups().isEmpty();
    return reconciler.desired.lifecycle().scale() instanceof ScaleSpec.Adaptive adaptive
            && !grouped
            && !adaptive.targets().equals(NO_TARGETS)
        ? Optional.of(adaptive)
        : Optional.empty();
  }

  /** Blocks while it reads; what it returns belongs to the loop. */
  BiConsumer<ServiceReconciler, Instant> read(
      List<Container> containers, int cores, RequestCount counted) throws InterruptedException {
    var fresh = new ArrayList<Reading>();
    for (Container container : containers) {
      try {
        double limit = container.spec().resources().cpus().orElse(cores);
        fresh.add(new Reading(container.id(), container.stats(), limit));
      } catch (AgentException _) {
        // one that has just ended has no load
      }
    }
    Optional<Rotation.Requests> requests = counted.read();
    return (reconciler, now) -> apply(reconciler, fresh, rate(requests, fresh.size(), now), now);
  }

  /** Requests per second of a replica since the last reading. */
  private OptionalDouble rate(Optional<Rotation.Requests> fresh, int replicas, Instant now) {
    Optional<Rotation.Requests> old = requests;
    double seconds = Duration.between(requestsAt, now).toMillis() / MILLIS;
    requests = fresh;
    requestsAt = now;
    boolean comparable =
        old.isPresent()
            && fresh.isPresent()
            && seconds > 0
            && replicas > 0
            && fresh.get().total() >= old.get().total();
    return comparable
        ? OptionalDouble.of((fresh.get().total() - old.get().total()) / seconds / replicas)
        : OptionalDouble.empty();
  }

  private void apply(
      ServiceReconciler reconciler, List<Reading> fresh, OptionalDouble rate, Instant now) {
    var load = new Autoscaler.Load(cpu(fresh), memory(fresh), rate);
    before = fresh.stream().collect(Collectors.toMap(Reading::id, one -> one, (one, _) -> one));
    Optional<ScaleSpec.Adaptive> scale = scale(reconciler);
    if (scale.isEmpty()) {
      return;
    }
    int replicas = reconciler.desired.count(scale.get());
    Autoscaler.Decision decision = Autoscaler.decide(scale.get(), replicas, memory, load, now);
    memory = decision.memory();
    reconciler.load =
        Optional.of(new Autoscaler.Load(memory.cpu(), memory.memory(), memory.requests()));
    if (decision.replicas() != replicas) {
      reconciler.changes.replace(reconciler.record().replicas(Optional.of(decision.replicas())));
      reconciler.changes.event(now, "service.scaled", Optional.empty());
    }
  }

  private OptionalDouble cpu(List<Reading> fresh) {
    var loads = DoubleStream.builder();
    for (Reading one : fresh) {
      Reading old = before.get(one.id());
      if (old != null) {
        long time = Duration.between(old.stats().time(), one.stats().time()).toNanos();
        double used = one.stats().cpuNanos() - (double) old.stats().cpuNanos();
        loads.add(time <= 0 ? 0 : PERCENT * used / time / one.cores());
      }
    }
    return loads.build().average();
  }

  private static OptionalDouble memory(List<Reading> fresh) {
    return fresh.stream()
        .map(Reading::stats)
        .filter(stats -> stats.memoryLimitBytes().isPresent())
        .mapToDouble(stats -> PERCENT * stats.memoryBytes() / stats.memoryLimitBytes().getAsLong())
        .average();
  }
}
