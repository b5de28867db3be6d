package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.oci.Digest;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * What is kept on disk about one container. It is written before the step it announces, so that
 * whoever reads it after a crash knows what may have been done.
 *
 * @param name given by people; empty means the runtime's own
 * @param command what runs, image and spec joined
 * @param gpus devices that no other container may get
 * @param run counts the starts
 * @param processes of the run, once they exist
 * @param outcome of the last run, once it has ended
 */
record ContainerRecord(
    int version,
    ContainerId id,
    ContainerSpec spec,
    Optional<String> name,
    Instant createdAt,
    Digest image,
    List<String> command,
    Signal stopSignal,
    List<String> gpus,
    Phase phase,
    int run,
    Optional<Instant> startedAt,
    Optional<Processes> processes,
    Optional<Outcome> outcome) {
  static final int VERSION = 1;

  ContainerRecord {
    command = List.copyOf(command);
    gpus = List.copyOf(gpus);
  }

  /** How far it is. */
  enum Phase {
    /** Being made: to be undone after a crash. */
    CREATING,
    CREATED,
    /** Being started: to be finished or undone after a crash. */
    STARTING,
    RUNNING,
    PAUSED,
    ENDED,
    /** Being removed: to be finished after a crash. */
    REMOVING
  }

  /** The monitor and the container's first process. */
  record Processes(ProcessIdentity monitor, ProcessIdentity first) {}

  /** Moves on, unless it has meanwhile moved elsewhere, for example to its end. */
  ContainerRecord withPhase(Phase expected, Phase next) {
    return phase == expected ? withPhase(next) : this;
  }

  ContainerRecord withPhase(Phase phase) {
    return with(next -> next.phase = phase);
  }

  ContainerRecord withGpus(List<String> gpus) {
    return with(next -> next.gpus = gpus);
  }

  /** The next run, of which nothing exists yet; the last outcome stays until it runs. */
  ContainerRecord starting(Instant now) {
    return with(
        next -> {
          next.phase = Phase.STARTING;
          next.run = run + 1;
          next.startedAt = Optional.of(now);
          next.processes = Optional.empty();
        });
  }

  /** The next run did not come about. */
  ContainerRecord notStarted() {
    return with(
        next -> {
          next.phase = outcome.isPresent() ? Phase.ENDED : Phase.CREATED;
          next.run = run - 1;
          next.processes = Optional.empty();
        });
  }

  ContainerRecord withProcesses(Processes processes) {
    return with(next -> next.processes = Optional.of(processes));
  }

  ContainerRecord running(Instant since) {
    return with(
        next -> {
          next.phase = Phase.RUNNING;
          next.startedAt = Optional.of(since);
          next.outcome = Optional.empty();
        });
  }

  ContainerRecord ended(Outcome outcome) {
    return with(
        next -> {
          next.phase = Phase.ENDED;
          next.processes = Optional.empty();
          next.outcome = Optional.of(outcome);
        });
  }

  ContainerRecord named(String name) {
    return with(next -> next.name = Optional.of(name));
  }

  ContainerRecord withResources(Resources resources) {
    return with(next -> next.spec = spec.withResources(resources));
  }

  private ContainerRecord with(Consumer<Next> change) {
    var next = new Next();
    change.accept(next);
    return new ContainerRecord(
        version,
        id,
        next.spec,
        next.name,
        createdAt,
        image,
        command,
        stopSignal,
        next.gpus,
        next.phase,
        next.run,
        next.startedAt,
        next.processes,
        next.outcome);
  }

  /** What can change, as it is before the change. */
  private final class Next {
    ContainerSpec spec = spec();
    Optional<String> name = name();
    List<String> gpus = gpus();
    Phase phase = phase();
    int run = run();
    Optional<Instant> startedAt = startedAt();
    Optional<Processes> processes = processes();
    Optional<Outcome> outcome = outcome();
  }
}
