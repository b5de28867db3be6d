package dev.zlayer.runtime.wsl;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.host.process.Processes;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.life.ExitNotes;
import java.io.IOException;
import java.nio.file.Files;
import java.util.concurrent.CompletableFuture;

/** Learns how a run ended from what its monitor noted, and from nothing else. */
record WslEnding(WslShop shop) {
  private static final System.Logger LOG = System.getLogger(WslEnding.class.getName());

  /** From now on the end of the current run becomes known, at once if it has already come. */
  void watch(Cell cell) {
    ContainerRecord record = cell.record();
    if (record.processes().isEmpty()) {
      return;
    }
    DirectoryWatchLoop.Registration log = keepLog(cell);
    Process waiting =
        Processes.start(new WslProcesses(shop.shell()).wait(record.processes().get().monitor()));
    CompletableFuture<Void> _ =
        waiting
            .onExit()
            .thenRun(
                () -> {
                  log.close();
                  end(cell, record);
                });
  }

  /** The monitor is gone: notes the outcome, and ends what it left unwatched. */
  private void end(Cell cell, ContainerRecord record) {
    try {
      if (!Files.exists(cell.directory().exitCode(cell.name())) && record.processes().isPresent()) {
        // nobody keeps its output or would learn of its end: a container cannot run unwatched
        new WslProcesses(shop.shell()).kill(record.processes().get().first());
      }
    } catch (IOException | AgentException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot end " + record.id() + ", unwatched", e);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    cell.end(record.run(), outcome(cell, record));
  }

  private static Outcome outcome(Cell cell, ContainerRecord record) {
    return ExitNotes.read(
        cell.directory().exitCode(cell.name()),
        record,
        code -> {
          boolean memory = ExitNotes.killed(code) && Files.exists(cell.directory().outOfMemory());
          return memory ? new ExitStatus.OutOfMemory() : ExitNotes.status(code);
        });
  }

  private DirectoryWatchLoop.Registration keepLog(Cell cell) {
    try {
      return shop.rotation().keep(cell.logs());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot watch the log of %s: %s".formatted(cell.record().id(), e.getMessage()), e);
    }
  }
}
