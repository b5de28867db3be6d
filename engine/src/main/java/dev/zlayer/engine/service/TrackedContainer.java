package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.engine.health.HealthStatus;
import dev.zlayer.port.Container;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** One container in the eyes of its loop, which alone touches it. */
final class TrackedContainer {
  /** What somebody is doing to it right now. */
  enum Busy {
    NO,
    PREPARING,
    STARTING,
    STOPPING,
    REMOVING
  }

  /** Made from this. */
  static final String HASH = "com.zlayer.hash";

  /** For this revision. */
  static final String REVISION = "com.zlayer.revision";

  final ContainerId id;
  final ReplicaId slot;
  final String hash;
  final long revision;
  Busy busy;
  @Nullable Container handle;
  boolean watched;
  Instant watchFrom = Instant.MIN;
  boolean probing;
  boolean condemned;
  boolean adopted;
  Optional<Outcome> ended = Optional.empty();

  /** When it was created before its time; until it is started. */
  Optional<Instant> preparedAt = Optional.empty();

  /** When we saw it start, on our clock. */
  Optional<Instant> startedAt = Optional.empty();

  HealthStatus health;

  private TrackedContainer(ContainerId id, String hash, long revision, Busy busy, Instant now) {
    this.id = id;
    this.slot = new ReplicaId(id.role(), id.replica());
    this.hash = hash;
    this.revision = revision;
    this.busy = busy;
    this.health = HealthStatus.starting(now);
  }

  /** One that is about to be made, for now or for later. */
  static TrackedContainer made(ContainerId id, String hash, long revision, Busy busy, Instant now) {
    return new TrackedContainer(id, hash, revision, busy, now);
  }

  /** One that an earlier process of the agent made. */
  static TrackedContainer found(Container container, Instant now) {
    String revision = container.spec().labels().getOrDefault(REVISION, "0");
    var live =
        new TrackedContainer(
            container.id(),
            container.spec().labels().getOrDefault(HASH, ""),
            Long.parseLong(revision),
            Busy.NO,
            now);
    live.handle = container;
    live.adopted = true;
    return live;
  }

  ContainerStatus status() {
    if (handle == null) {
      return new ContainerStatus.Created();
    }
    try {
      return handle.status();
    } catch (RuntimeException e) {
      return new ContainerStatus.Unknown(String.valueOf(e.getMessage()));
    }
  }

  /** The wall clock was set: what it waits for is as far away as before. */
  void clockMoved(Duration by) {
    startedAt = startedAt.map(time -> Saturating.plus(time, by));
    preparedAt = preparedAt.map(time -> Saturating.plus(time, by));
    watchFrom = watchFrom.equals(Instant.MIN) ? watchFrom : Saturating.plus(watchFrom, by);
    health = health.moved(by);
  }

  /** Its process runs and nobody is ending it. */
  boolean running() {
    return busy == Busy.NO
        && handle != null
        && ended.isEmpty()
        && status() instanceof ContainerStatus.Running;
  }

  void neverRan() {
    ended =
        Optional.of(
            new Outcome(
                new ExitStatus.Unknown("it never ran"), Optional.empty(), Optional.empty()));
  }

  /** It was or is being created before its time: nothing of it runs. */
  boolean ahead() {
    return busy == Busy.PREPARING || preparedAt.isPresent();
  }

  /** Its process is made and waits. */
  boolean waits() {
    return busy == Busy.NO
        && preparedAt.isPresent()
        && status() instanceof ContainerStatus.Prepared;
  }

  boolean ready() {
    return running() && !condemned && health.healthy();
  }

  /** It ran before us, and whether it works is not known yet: nothing may be decided about it. */
  boolean unjudged() {
    return adopted && running() && !health.checked();
  }

  /** No later than {@code now}, also when somebody set the clock back. */
  Instant startedAt(Instant now) {
    Instant time = startedAt.orElseGet(() -> reportedStart(now));
    return time.isAfter(now) ? now : time;
  }

  private Instant reportedStart(Instant otherwise) {
    return switch (status()) {
      case ContainerStatus.Running running -> running.startedAt();
      case ContainerStatus.Paused paused -> paused.startedAt();
      case ContainerStatus.Stopping stopping -> stopping.startedAt();
      case ContainerStatus.Exited exited -> exited.outcome().startedAt().orElse(otherwise);
      case ContainerStatus.Created _,
          ContainerStatus.Prepared _,
          ContainerStatus.Unknown _,
          ContainerStatus.Removed _ ->
          otherwise;
    };
  }

  /** As the planner sees it; {@code kept} says whether an ended one has to stay. */
  ObservedReplica seen(boolean kept) {
    ObservedReplica.Phase phase = phase(kept);
    return new ObservedReplica(
        slot,
        id.generation(),
        hash,
        phase,
        phase == ObservedReplica.Phase.HEALTHY ? Optional.of(health.since()) : Optional.empty());
  }

  private ObservedReplica.Phase phase(boolean kept) {
    return switch (busy) {
      case PREPARING -> ObservedReplica.Phase.PREPARING;
      case STARTING -> ObservedReplica.Phase.STARTING;
      case STOPPING, REMOVING -> ObservedReplica.Phase.STOPPING;
      case NO ->
          switch (status()) {
            case ContainerStatus.Created _ -> ObservedReplica.Phase.LEFTOVER;
            case ContainerStatus.Prepared _ ->
                waits() ? ObservedReplica.Phase.PREPARED : ObservedReplica.Phase.LEFTOVER;
            case ContainerStatus.Exited _, ContainerStatus.Removed _ ->
                ended.isEmpty()
                    ? ObservedReplica.Phase.RUNNING
                    : kept ? ObservedReplica.Phase.KEPT : ObservedReplica.Phase.ENDED;
            case ContainerStatus.Running _,
                ContainerStatus.Paused _,
                ContainerStatus.Stopping _,
                ContainerStatus.Unknown _ ->
                condemned
                    ? ObservedReplica.Phase.CONDEMNED
                    : health.healthy()
                        ? ObservedReplica.Phase.HEALTHY
                        : ObservedReplica.Phase.RUNNING;
          };
    };
  }
}
