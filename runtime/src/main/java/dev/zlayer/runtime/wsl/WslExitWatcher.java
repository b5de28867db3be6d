package dev.zlayer.runtime.wsl;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.host.process.Processes;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.ExitNotes;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.util.concurrent.CompletableFuture;

/** Learns how a run ended from what its monitor noted, and from nothing else. */
record WslExitWatcher(WslContext context) {
  private static final System.Logger LOG = LazyLogger.of(WslExitWatcher.class);

  /** From now on the end of the current run becomes known, at once if it has already come. */
  void watch(ContainerState state) {
    ContainerRecord record = state.record();
    if (record.processes().isEmpty()) {
      return;
    }
    DirectoryWatchLoop.Registration log = keepLog(state);
    Process waiting =
        Processes.start(new WslProcesses(context.shell()).wait(record.processes().get().monitor()));
    CompletableFuture<Void> _ =
        waiting
            .onExit()
            .thenRun(
                () -> {
                  log.close();
                  end(state, record);
                });
  }

  /** The monitor is gone: notes the outcome, and ends what it left unwatched. */
  private void end(ContainerState state, ContainerRecord record) {
    try {
      if (!Files.exists(state.directory().exitCode(state.name()))
          && record.processes().isPresent()) {
        // nobody keeps its output or would learn of its end: a container cannot run unwatched
        new WslProcesses(context.shell()).kill(record.processes().get().first());
      }
    } catch (IOException | AgentException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot end " + record.id() + ", unwatched", e);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    state.end(record.run(), outcome(state, record));
  }

  private static Outcome outcome(ContainerState state, ContainerRecord record) {
    return ExitNotes.read(
        state.directory().exitCode(state.name()),
        record,
        code -> {
          boolean memory = ExitNotes.killed(code) && Files.exists(state.directory().outOfMemory());
          return memory ? new ExitStatus.OutOfMemory() : ExitNotes.status(code);
        });
  }

  private DirectoryWatchLoop.Registration keepLog(ContainerState state) {
    try {
      return context.rotation().keep(state.logs());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot watch the log of %s: %s".formatted(state.record().id(), e.getMessage()), e);
    }
  }
}
