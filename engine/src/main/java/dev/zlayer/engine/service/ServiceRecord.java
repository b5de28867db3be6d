package dev.zlayer.engine.service;

import dev.zlayer.container.ServiceKey;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * What is remembered of a service, durable before it is acted on.
 *
 * @param revision the revision of the deployment that was asked for last
 * @param good the last revision that all replicas ran and were healthy with
 * @param takenBack why the revision asked for is not the one that is aimed at
 * @param stopped somebody stopped it
 * @param shutdown it stopped itself because a replica panicked
 * @param replicas how many somebody or the load asked for, when the file leaves that open
 * @param idle it has no replica until the next request
 * @param step of a roll-out in steps that was reached; nothing outside of one
 * @param restarts how often somebody asked for a restart; part of what replicas are made from
 * @param generation the last one that was given to a container; none is given twice
 * @param images what the images of a revision were when it was deployed, where the file asks for
 *     the newest
 */
record ServiceRecord(
    ServiceKey key,
    long revision,
    Optional<Long> good,
    Optional<Failure> takenBack,
    boolean stopped,
    Optional<Failure> shutdown,
    Optional<Integer> replicas,
    boolean idle,
    Optional<Integer> step,
    int restarts,
    long generation,
    NavigableMap<Long, String> images,
    NavigableMap<ReplicaId, ReplicaRecord> slots) {
  ServiceRecord {
    images = Collections.unmodifiableNavigableMap(new TreeMap<>(images));
    slots = Collections.unmodifiableNavigableMap(new TreeMap<>(slots));
  }

  static ServiceRecord fresh(ServiceKey key) {
    return new ServiceRecord(
        key,
        0,
        Optional.empty(),
        Optional.empty(),
        false,
        Optional.empty(),
        Optional.empty(),
        false,
        Optional.empty(),
        0,
        0,
        new TreeMap<>(),
        new TreeMap<>());
  }

  /** The revision that replicas are made from. */
  long desired() {
    return takenBack.isPresent() ? good.orElse(revision) : revision;
  }

  ReplicaRecord slot(ReplicaId slot) {
    return slots.getOrDefault(slot, ReplicaRecord.FRESH);
  }

  /** Aims at another revision, or at the same once more: what was given up is tried again. */
  ServiceRecord aimingAt(long revision) {
    return with(
        next -> {
          next.revision = revision;
          next.idle = false;
          next.step = Optional.empty();
          next.takenBack = Optional.empty();
          next.shutdown = Optional.empty();
          next.slots = all(slot -> slot.again().withoutError());
        });
  }

  /** All replicas run it and are healthy; what was remembered of other revisions can go. */
  ServiceRecord proved(long revision) {
    var kept = new TreeMap<>(images);
    kept.keySet().removeIf(number -> number != revision && number != this.revision);
    return with(
        next -> {
          next.good = Optional.of(revision);
          next.step = Optional.empty();
          next.images = kept;
        });
  }

  ServiceRecord takenBack(Failure reason) {
    return with(
        next -> {
          next.takenBack = Optional.of(reason);
          next.step = Optional.empty();
          next.slots = all(ReplicaRecord::again);
        });
  }

  ServiceRecord stopped(boolean stopped) {
    return with(
        next -> {
          next.stopped = stopped;
          next.idle = false;
          next.shutdown = Optional.empty();
          next.slots = all(ReplicaRecord::again);
        });
  }

  ServiceRecord shutdown(Failure reason) {
    return with(next -> next.shutdown = Optional.of(reason));
  }

  ServiceRecord replicas(Optional<Integer> replicas) {
    return with(
        next -> {
          next.replicas = replicas;
          next.idle = false;
        });
  }

  /** No replica until the next request; then it begins with as few as it may have. */
  ServiceRecord becomeIdle() {
    return with(
        next -> {
          next.replicas = Optional.empty();
          next.idle = true;
        });
  }

  ServiceRecord atStep(int step) {
    return with(next -> next.step = Optional.of(step));
  }

  ServiceRecord requested() {
    return with(next -> next.idle = false);
  }

  ServiceRecord restarted() {
    return with(
        next -> {
          next.stopped = false;
          next.idle = false;
          next.shutdown = Optional.empty();
          next.restarts = restarts + 1;
          next.slots = all(ReplicaRecord::again);
        });
  }

  ServiceRecord nextGeneration() {
    return withGeneration(generation + 1);
  }

  ServiceRecord withGeneration(long generation) {
    return with(next -> next.generation = generation);
  }

  /** The wanted revision has the images of another one. */
  ServiceRecord withImagesOf(long other) {
    String known = images.get(other);
    return known == null ? this : with(revision, known);
  }

  ServiceRecord with(long revision, String image) {
    var all = new TreeMap<>(images);
    all.put(revision, image);
    return with(next -> next.images = all);
  }

  ServiceRecord with(ReplicaId slot, UnaryOperator<ReplicaRecord> change) {
    var all = new TreeMap<>(slots);
    all.put(slot, change.apply(slot(slot)));
    return with(next -> next.slots = all);
  }

  /** Forgets replicas that are not wanted any more. */
  ServiceRecord only(NavigableMap<ReplicaId, String> wanted) {
    if (wanted.keySet().containsAll(slots.keySet())) {
      return this;
    }
    var all = new TreeMap<>(slots);
    all.keySet().retainAll(wanted.keySet());
    return with(next -> next.slots = all);
  }

  /** The wall clock was set by so much. */
  ServiceRecord clockMoved(Duration by) {
    return with(next -> next.slots = all(slot -> slot.clockMoved(by)));
  }

  /** Pauses that end later than any that was ever meant: the clock was set back meanwhile. */
  ServiceRecord withPausesUntil(Instant latest) {
    return with(next -> next.slots = all(slot -> slot.notAfter(latest)));
  }

  /** The last thing that went wrong with any replica. */
  Optional<Failure> lastError() {
    return slots.values().stream()
        .flatMap(slot -> slot.lastError().stream())
        .max(java.util.Comparator.comparing(Failure::at, Instant::compareTo));
  }

  private NavigableMap<ReplicaId, ReplicaRecord> all(UnaryOperator<ReplicaRecord> change) {
    var all = new TreeMap<>(slots);
    all.replaceAll((_, slot) -> change.apply(slot));
    return all;
  }

  private ServiceRecord with(Consumer<Next> change) {
    var next = new Next();
    change.accept(next);
    return new ServiceRecord(
        key,
        next.revision,
        next.good,
        next.takenBack,
        next.stopped,
        next.shutdown,
        next.replicas,
        next.idle,
        next.step,
        next.restarts,
        next.generation,
        next.images,
        next.slots);
  }

  /** What can change, as it is before the change. */
  private final class Next {
    long revision = revision();
    Optional<Long> good = good();
    Optional<Failure> takenBack = takenBack();
    boolean stopped = stopped();
    Optional<Failure> shutdown = shutdown();
    Optional<Integer> replicas = replicas();
    boolean idle = idle();
    Optional<Integer> step = step();
    int restarts = restarts();
    long generation = generation();
    NavigableMap<Long, String> images = images();
    NavigableMap<ReplicaId, ReplicaRecord> slots = slots();
  }
}
