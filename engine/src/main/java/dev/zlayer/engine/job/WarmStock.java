package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerId;
import dev.zlayer.engine.job.WarmPlanner.Entry;
import dev.zlayer.engine.job.WarmPlanner.Shape;
import dev.zlayer.engine.job.WarmPlanner.Stage;
import java.time.Instant;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.Collectors;

/**
 * What may be asked about containers made ahead, and said about what they are needed for, from any
 * thread. It outlives a state of their owner that could not continue.
 */
final class WarmStock {
  private final Set<ContainerId> held = ConcurrentHashMap.newKeySet();

  /** What an execution may take without waiting for the owner, oldest first. */
  private final Map<Long, Offer> offers = new ConcurrentSkipListMap<>();

  private volatile Set<JobKey> ready = Set.of();
  private volatile Set<JobKey> coming = Set.of();
  private volatile QueueAhead queue = QueueAhead.NONE;
  private volatile Map<JobKey, Instant> schedule = Map.of();

  private record Offer(JobKey job, Shape shape) {}

  /** Whether a container is in use here. */
  boolean holds(ContainerId id) {
    return held.contains(id);
  }

  /** Whether something of a job waits, which need not be true any more. */
  boolean has(JobKey job) {
    return ready.contains(job);
  }

  /** Whether something of a job waits or is being made, which need not be true any more. */
  boolean expects(JobKey job) {
    return coming.contains(job);
  }

  /** Replaces what the queue needs; true when that is something else than before. */
  boolean replace(QueueAhead next) {
    boolean changed = !next.equals(queue);
    queue = next;
    return changed;
  }

  QueueAhead queue() {
    return queue;
  }

  /** Replaces the schedules whose time has almost come; true when they are others than before. */
  boolean replace(Map<JobKey, Instant> next) {
    boolean changed = !next.equals(schedule);
    schedule = Map.copyOf(next);
    return changed;
  }

  Map<JobKey, Instant> schedule() {
    return schedule;
  }

  void hold(ContainerId id) {
    held.add(id);
  }

  void release(ContainerId id) {
    held.remove(id);
  }

  /** From now on whoever comes first has it, an execution or its owner. */
  void offer(Entry entry) {
    entry
        .shape()
        .ifPresent(shape -> offers.put(entry.number(), new Offer(entry.target().job(), shape)));
  }

  /** Whether no execution has taken it. */
  boolean offers(long number) {
    return offers.containsKey(number);
  }

  /** From now on only its owner gives it away; false when an execution has taken it. */
  boolean withdraw(long number) {
    return offers.remove(number) != null;
  }

  /** One that is exactly what an execution wants; nobody else gets it. */
  Optional<Long> take(JobKey job, Shape shape) {
    return offers.entrySet().stream()
        .filter(one -> one.getValue().job().equals(job) && one.getValue().shape().fits(shape))
        .filter(one -> offers.remove(one.getKey(), one.getValue()))
        .map(Map.Entry::getKey)
        .findFirst();
  }

  /** Whatever is held belongs to a state that could not continue. */
  void releaseAll() {
    offers.clear();
    held.clear();
  }

  void publish(Collection<Entry> entries) {
    ready = jobs(entries, Set.of(Stage.READY));
    coming = jobs(entries, Set.of(Stage.READY, Stage.MAKING));
  }

  private static Set<JobKey> jobs(Collection<Entry> entries, Set<Stage> stages) {
    return entries.stream()
        .filter(entry -> stages.contains(entry.stage()))
        .map(entry -> entry.target().job())
        .collect(Collectors.toUnmodifiableSet());
  }
}
