package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.runtime.log.LogFiles;
import dev.zlayer.task.Watched;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;

/**
 * One container as this process sees it: its directory, and its record with what is not worth
 * keeping. Readers never wait; changes go to the disk first.
 */
final class Cell {
  /**
   * @param stopping it was told to end
   * @param ends runs that ended since this process knows the container
   * @param trouble what keeps us from telling its state
   */
  record View(
      ContainerRecord record,
      boolean stopping,
      int ends,
      boolean removed,
      Optional<String> trouble) {
    View with(ContainerRecord record) {
      return new View(record, stopping, ends, removed, Optional.empty());
    }

    View stopping(boolean stopping) {
      return new View(record, stopping, ends, removed, trouble);
    }

    View troubled(String trouble) {
      return new View(record, stopping, ends, removed, Optional.of(trouble));
    }

    View ended(ContainerRecord record) {
      return new View(record, false, ends + 1, removed, Optional.empty());
    }

    View gone() {
      return new View(record, false, ends, true, Optional.empty());
    }

    ContainerStatus status() {
      if (removed) {
        return new ContainerStatus.Removed();
      }
      if (trouble.isPresent()) {
        return new ContainerStatus.Unknown(trouble.get());
      }
      return switch (record.phase()) {
        case CREATING, CREATED -> new ContainerStatus.Created();
        case STARTING ->
            record.outcome().isPresent()
                ? new ContainerStatus.Exited(outcome())
                : new ContainerStatus.Created();
        case RUNNING ->
            stopping
                ? new ContainerStatus.Stopping(started())
                : new ContainerStatus.Running(started(), pid());
        case PAUSED -> new ContainerStatus.Paused(started(), pid());
        case ENDED -> new ContainerStatus.Exited(outcome());
        case REMOVING -> new ContainerStatus.Unknown("it is being removed");
      };
    }

    /** How the last run ended; unknown for a container that never ran. */
    Outcome outcome() {
      return record
          .outcome()
          .orElseGet(
              () ->
                  new Outcome(
                      new ExitStatus.Unknown("it has not run"),
                      Optional.empty(),
                      Optional.empty()));
    }

    OptionalLong pid() {
      return record
          .processes()
          .map(p -> OptionalLong.of(p.first().pid()))
          .orElse(OptionalLong.empty());
    }

    private java.time.Instant started() {
      return record.startedAt().orElse(record.createdAt());
    }
  }

  private final String name;
  private final ContainerDir directory;
  private final Watched<View> view;

  Cell(ContainerDir directory, ContainerRecord record) {
    this.name = record.id().runtimeName();
    this.directory = directory;
    this.view = new Watched<>(new View(record, false, 0, false, Optional.empty()));
  }

  static Optional<ContainerRecord> read(ContainerDir directory) throws IOException {
    if (!Files.exists(directory.recordFile())) {
      return Optional.empty();
    }
    var record =
        RecordJson.read(
            JsonText.parse(Files.readAllBytes(directory.recordFile())), ContainerRecord.class);
    if (record.version() != ContainerRecord.VERSION) {
      throw new IOException(
          "%s has version %d and this agent reads %d"
              .formatted(directory.recordFile(), record.version(), ContainerRecord.VERSION));
    }
    return Optional.of(record);
  }

  String name() {
    return name;
  }

  ContainerDir directory() {
    return directory;
  }

  ContainerDir.RunDir runDirectory() {
    return directory.run(record().run());
  }

  LogFiles logs() {
    return new LogFiles(directory.logs(), record().spec().logs());
  }

  Watched<View> view() {
    return view;
  }

  ContainerRecord record() {
    return view.now().record();
  }

  ContainerStatus status() {
    return view.now().status();
  }

  /** Writes the changed record, then shows it. */
  ContainerRecord save(UnaryOperator<ContainerRecord> change) {
    return view.update(old -> old.with(written(change.apply(old.record()), false))).record();
  }

  /** Like {@link #save}, and sure to survive a power failure. */
  void saveDurably(UnaryOperator<ContainerRecord> change) {
    view.update(old -> old.with(written(change.apply(old.record()), true)));
  }

  /** Notes the end of a run, unless another one has begun or it is noted already. */
  void end(int run, Outcome outcome) {
    view.update(
        old ->
            old.removed() || old.record().run() != run || noted(old.record())
                ? old
                : old.ended(endedRecord(old.record(), outcome)));
  }

  private static boolean noted(ContainerRecord record) {
    return switch (record.phase()) {
      case ENDED -> true;
      case REMOVING -> record.processes().isEmpty();
      case CREATING, CREATED, STARTING, RUNNING, PAUSED -> false;
    };
  }

  private ContainerRecord endedRecord(ContainerRecord record, Outcome outcome) {
    ContainerRecord ended = record.ended(outcome);
    // a removal under way goes on
    return written(
        record.phase() == ContainerRecord.Phase.REMOVING
            ? ended.withPhase(ContainerRecord.Phase.REMOVING)
            : ended,
        false);
  }

  private ContainerRecord written(ContainerRecord record, boolean durably) {
    try {
      byte[] bytes = JsonText.bytes(RecordJson.write(record));
      if (durably) {
        AtomicFile.write(directory.recordFile(), bytes);
      } else {
        AtomicFile.writeRelaxed(directory.recordFile(), bytes);
      }
      return record;
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot write %s: %s".formatted(directory.recordFile(), e.getMessage()), e);
    }
  }
}
