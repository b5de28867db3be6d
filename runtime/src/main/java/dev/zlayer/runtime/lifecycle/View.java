package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import java.time.Instant;
import java.util.Optional;

/**
 * A container at one moment: its record, with what is not worth keeping.
 *
 * @param stopping it was told to end
 * @param prepared the process of the run that begins is made and waits to be let go
 * @param ends runs that ended since this process knows the container
 * @param trouble what keeps us from telling its state
 */
public record View<R extends LifecycleRecord<R>>(
    R record,
    boolean stopping,
    boolean prepared,
    int ends,
    boolean removed,
    Optional<String> trouble) {
  View<R> with(R record) {
    boolean still = prepared && record.phase() == Phase.STARTING;
    return new View<>(record, stopping, still, ends, removed, Optional.empty());
  }

  public View<R> prepared(boolean prepared) {
    return new View<>(record, stopping, prepared, ends, removed, trouble);
  }

  public View<R> stopping(boolean stopping) {
    return new View<>(record, stopping, prepared, ends, removed, trouble);
  }

  public View<R> troubled(String trouble) {
    return new View<>(record, stopping, prepared, ends, removed, Optional.of(trouble));
  }

  View<R> ended(R record) {
    return new View<>(record, false, false, ends + 1, removed, Optional.empty());
  }

  public View<R> gone() {
    return new View<>(record, false, false, ends, true, Optional.empty());
  }

  public ContainerStatus status() {
    if (removed) {
      return new ContainerStatus.Removed();
    }
    if (trouble.isPresent()) {
      return new ContainerStatus.Unknown(trouble.get());
    }
    return switch (record.phase()) {
      case CREATING, CREATED -> new ContainerStatus.Created();
      case STARTING -> starting();
      case RUNNING ->
          stopping
              ? new ContainerStatus.Stopping(started())
              : new ContainerStatus.Running(started(), record.pid());
      case PAUSED -> new ContainerStatus.Paused(started(), record.pid());
      case ENDED -> new ContainerStatus.Exited(outcome());
      case REMOVING -> new ContainerStatus.Unknown("it is being removed");
    };
  }

  private ContainerStatus starting() {
    if (prepared) {
      return new ContainerStatus.Prepared(started(), record.pid());
    }
    return record.outcome().isPresent()
        ? new ContainerStatus.Exited(outcome())
        : new ContainerStatus.Created();
  }

  /** How the last run ended; unknown for a container that never ran. */
  public Outcome outcome() {
    return record
        .outcome()
        .orElseGet(
            () ->
                new Outcome(
                    new ExitStatus.Unknown("it has not run"), Optional.empty(), Optional.empty()));
  }

  /** Whether its output is complete: the end is noted only when all is written. */
  boolean silent() {
    return removed
        || switch (record.phase()) {
          case ENDED, REMOVING -> true;
          case CREATING, CREATED, STARTING, RUNNING, PAUSED -> false;
        };
  }

  private Instant started() {
    return record.startedAt().orElse(record.createdAt());
  }
}
