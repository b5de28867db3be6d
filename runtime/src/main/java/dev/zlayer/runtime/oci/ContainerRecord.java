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
    return new ContainerRecord(
        version,
        id,
        spec,
        name,
        createdAt,
        image,
        command,
        stopSignal,
        gpus,
        phase,
        run,
        startedAt,
        processes,
        outcome);
  }

  ContainerRecord withGpus(List<String> gpus) {
    return new ContainerRecord(
        version,
        id,
        spec,
        name,
        createdAt,
        image,
        command,
        stopSignal,
        gpus,
        phase,
        run,
        startedAt,
        processes,
        outcome);
  }

  /** The next run, of which nothing exists yet; the last outcome stays until it runs. */
  ContainerRecord starting(Instant now) {
    return new ContainerRecord(
        version,
        id,
        spec,
        name,
        createdAt,
        image,
        command,
        stopSignal,
        gpus,
        Phase.STARTING,
        run + 1,
        Optional.of(now),
        Optional.empty(),
        outcome);
  }

  /** The next run did not come about. */
  ContainerRecord notStarted() {
    return new ContainerRecord(
        version,
        id,
        spec,
        name,
        createdAt,
        image,
        command,
        stopSignal,
        gpus,
        outcome.isPresent() ? Phase.ENDED : Phase.CREATED,
        run - 1,
        startedAt,
        Optional.empty(),
        outcome);
  }

  ContainerRecord withProcesses(Processes processes) {
    return new ContainerRecord(
        version,
        id,
        spec,
        name,
        createdAt,
        image,
        command,
        stopSignal,
        gpus,
        phase,
        run,
        startedAt,
        Optional.of(processes),
        outcome);
  }

  ContainerRecord running(Instant since) {
    return new ContainerRecord(
        version,
        id,
        spec,
        name,
        createdAt,
        image,
        command,
        stopSignal,
        gpus,
        Phase.RUNNING,
        run,
        Optional.of(since),
        processes,
        Optional.empty());
  }

  ContainerRecord ended(Outcome outcome) {
    return new ContainerRecord(
        version,
        id,
        spec,
        name,
        createdAt,
        image,
        command,
        stopSignal,
        gpus,
        Phase.ENDED,
        run,
        startedAt,
        Optional.empty(),
        Optional.of(outcome));
  }

  ContainerRecord named(String name) {
    return new ContainerRecord(
        version,
        id,
        spec,
        Optional.of(name),
        createdAt,
        image,
        command,
        stopSignal,
        gpus,
        phase,
        run,
        startedAt,
        processes,
        outcome);
  }

  ContainerRecord withResources(Resources resources) {
    return new ContainerRecord(
        version,
        id,
        spec.withResources(resources),
        name,
        createdAt,
        image,
        command,
        stopSignal,
        gpus,
        phase,
        run,
        startedAt,
        processes,
        outcome);
  }
}
