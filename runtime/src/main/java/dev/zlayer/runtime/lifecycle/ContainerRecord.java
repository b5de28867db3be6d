package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.IdRange;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.ImageDetails;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What is kept on disk about one container of an OCI runtime. It is written before the step it
 * announces, so that whoever reads it after a crash knows what may have been done.
 *
 * @param name given by people; empty means the runtime's own
 * @param command what runs, image and spec joined
 * @param gpus devices that it has, alone or shared as its spec says
 * @param ids the users of its own, which no other container gets unless they share namespaces
 * @param run counts the starts
 * @param processes of the run, once they exist
 * @param outcome of the last run, once it has ended
 */
public record ContainerRecord(
    int version,
    ContainerId id,
    ContainerSpec spec,
    Optional<String> name,
    Instant createdAt,
    Digest image,
    List<String> command,
    Signal stopSignal,
    List<String> gpus,
    Optional<IdRange> ids,
    Phase phase,
    int run,
    Optional<Instant> startedAt,
    Optional<Processes> processes,
    Optional<Outcome> outcome)
    implements LifecycleRecord<ContainerRecord> {
  private static final Digest UNKNOWN_IMAGE = Digest.parse("sha256:" + "0".repeat(64));

  public ContainerRecord {
    command = List.copyOf(command);
    gpus = List.copyOf(gpus);
  }

  /** Of a container about to be made. */
  public static ContainerRecord creating(
      ContainerId id, ContainerSpec spec, ImageDetails image, List<String> command, Instant now) {
    Signal stop =
        spec.stop()
            .signal()
            .or(() -> image.run().stopSignal().map(Signal::parse))
            .orElse(Signal.TERM);
    return new ContainerRecord(
        LifecycleRecord.VERSION,
        id,
        spec,
        Optional.empty(),
        now,
        image.info().digest(),
        command,
        stop,
        List.of(),
        Optional.empty(),
        Phase.CREATING,
        0,
        Optional.empty(),
        Optional.empty(),
        Optional.empty());
  }

  /**
   * Of a container whose own record cannot be read: what others know of it. It may run, so nothing
   * is started until it was removed.
   */
  public static ContainerRecord unreadable(ContainerId id, ContainerSpec spec, Instant createdAt) {
    return new ContainerRecord(
        LifecycleRecord.VERSION,
        id,
        spec,
        Optional.empty(),
        createdAt,
        UNKNOWN_IMAGE,
        List.of(),
        spec.stop().signal().orElse(Signal.TERM),
        List.of(),
        Optional.empty(),
        Phase.RUNNING,
        1,
        Optional.empty(),
        Optional.empty(),
        Optional.empty());
  }

  /** The monitor and the container's first process. */
  public record Processes(ProcessIdentity monitor, ProcessIdentity first) {}

  @Override
  public OptionalLong pid() {
    return processes
        .map(found -> OptionalLong.of(found.first().pid()))
        .orElse(OptionalLong.empty());
  }

  /** Moves on, unless it has meanwhile moved elsewhere, for example to its end. */
  public ContainerRecord withPhase(Phase expected, Phase next) {
    return phase == expected ? withPhase(next) : this;
  }

  @Override
  public ContainerRecord withPhase(Phase phase) {
    return at(phase, run, startedAt, processes, outcome);
  }

  public ContainerRecord withGpus(List<String> gpus) {
    return known(spec, name, gpus, ids);
  }

  public ContainerRecord withIds(IdRange ids) {
    return known(spec, name, gpus, Optional.of(ids));
  }

  /** The next run, of which nothing exists yet; the last outcome stays until it runs. */
  public ContainerRecord starting(Instant now) {
    return at(Phase.STARTING, run + 1, Optional.of(now), Optional.empty(), outcome);
  }

  /** The next run did not come about. */
  public ContainerRecord notStarted() {
    return at(
        outcome.isPresent() ? Phase.ENDED : Phase.CREATED,
        run - 1,
        startedAt,
        Optional.empty(),
        outcome);
  }

  public ContainerRecord withProcesses(Processes processes) {
    return at(phase, run, startedAt, Optional.of(processes), outcome);
  }

  public ContainerRecord running(Instant since) {
    return at(Phase.RUNNING, run, Optional.of(since), processes, Optional.empty());
  }

  @Override
  public ContainerRecord ended(Outcome outcome) {
    return at(Phase.ENDED, run, startedAt, Optional.empty(), Optional.of(outcome));
  }

  public ContainerRecord named(String name) {
    return known(spec, Optional.of(name), gpus, ids);
  }

  public ContainerRecord withResources(Resources resources) {
    return known(spec.withResources(resources), name, gpus, ids);
  }

  public ContainerRecord withLabels(Map<String, String> labels) {
    return known(spec.withLabels(labels), name, gpus, ids);
  }

  private ContainerRecord at(
      Phase phase,
      int run,
      Optional<Instant> startedAt,
      Optional<Processes> processes,
      Optional<Outcome> outcome) {
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
        ids,
        phase,
        run,
        startedAt,
        processes,
        outcome);
  }

  private ContainerRecord known(
      ContainerSpec spec, Optional<String> name, List<String> gpus, Optional<IdRange> ids) {
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
        ids,
        phase,
        run,
        startedAt,
        processes,
        outcome);
  }
}
