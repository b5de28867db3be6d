package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.runtime.log.EndSignal;
import dev.zlayer.runtime.log.LogFiles;
import dev.zlayer.task.Watched;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;

/**
 * One container as this process sees it: its directory, its record, and the thread that runs it if
 * it runs. Readers never wait; changes go to the disk first.
 */
final class WasmCell implements EndSignal {
  /**
   * @param loop while it runs
   * @param stopping it was told to end
   * @param ends runs that ended since this process knows the container
   */
  record View(
      WasmRecord record, Optional<ModuleLoop> loop, boolean stopping, int ends, boolean removed) {
    ContainerStatus status() {
      if (removed) {
        return new ContainerStatus.Removed();
      }
      return switch (record.phase()) {
        case CREATING, CREATED -> new ContainerStatus.Created();
        case RUNNING ->
            stopping
                ? new ContainerStatus.Stopping(started())
                : new ContainerStatus.Running(started(), OptionalLong.empty());
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

    private Instant started() {
      return record.startedAt().orElse(record.createdAt());
    }
  }

  private static final System.Logger LOG = System.getLogger(WasmCell.class.getName());

  private final ContainerDir directory;
  private final Watched<View> view;

  WasmCell(ContainerDir directory, WasmRecord record) {
    this.directory = directory;
    this.view = new Watched<>(new View(record, Optional.empty(), false, 0, false));
  }

  static Optional<WasmRecord> read(ContainerDir directory) throws IOException {
    if (!Files.exists(directory.recordFile())) {
      return Optional.empty();
    }
    var record =
        RecordJson.read(
            JsonText.parse(Files.readAllBytes(directory.recordFile())), WasmRecord.class);
    if (record.version() != WasmRecord.VERSION) {
      throw new IOException(
          "%s has version %d and this agent reads %d"
              .formatted(directory.recordFile(), record.version(), WasmRecord.VERSION));
    }
    return Optional.of(record);
  }

  String name() {
    return record().id().runtimeName();
  }

  ContainerDir directory() {
    return directory;
  }

  LogFiles logs() {
    return new LogFiles(directory.logs(), record().spec().logs());
  }

  Watched<View> view() {
    return view;
  }

  WasmRecord record() {
    return view.now().record();
  }

  /** Writes the changed record, then shows it. */
  void save(UnaryOperator<WasmRecord> change) {
    save(change, false);
  }

  /** Like {@link #save}, and sure to survive a power failure. */
  void saveDurably(UnaryOperator<WasmRecord> change) {
    save(change, true);
  }

  private void save(UnaryOperator<WasmRecord> change, boolean durably) {
    view.update(
        old ->
            new View(
                written(change.apply(old.record()), durably),
                old.loop(),
                old.stopping(),
                old.ends(),
                old.removed()));
  }

  void running(Instant now, ModuleLoop loop) {
    view.update(
        old ->
            new View(
                written(old.record().running(now), false),
                Optional.of(loop),
                false,
                old.ends(),
                false));
  }

  /** Also when the disk refuses it: then a later agent will not know how it ended. */
  void ended(Outcome outcome) {
    view.update(
        old ->
            new View(
                writtenIfPossible(old.record().ended(outcome)),
                Optional.empty(),
                false,
                old.ends() + 1,
                old.removed()));
  }

  void stopping() {
    view.update(
        old ->
            new View(old.record(), old.loop(), old.loop().isPresent(), old.ends(), old.removed()));
  }

  void gone() {
    view.update(old -> new View(old.record(), Optional.empty(), false, old.ends(), true));
  }

  /** All output is written before the end is noted. */
  @Override
  public boolean ended() {
    View now = view.now();
    return now.removed()
        || switch (now.record().phase()) {
          case ENDED, REMOVING -> true;
          case CREATING, CREATED, RUNNING -> false;
        };
  }

  @Override
  public DirectoryWatchLoop.Registration onEnd(Runnable wake) {
    return view.onChange(wake)::close;
  }

  private WasmRecord writtenIfPossible(WasmRecord record) {
    try {
      return written(record, false);
    } catch (AgentException.Internal e) {
      LOG.log(System.Logger.Level.ERROR, "the end of a module could not be noted", e);
      return record;
    }
  }

  private WasmRecord written(WasmRecord record, boolean durably) {
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
