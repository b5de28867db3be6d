package dev.zlayer.runtime.wsl;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds what an earlier agent left, and finishes or undoes what it was in the middle of. */
record WslRecovery(WslContext context) {
  private static final System.Logger LOG = LazyLogger.of(WslRecovery.class);

  void recover() throws IOException, InterruptedException {
    List<Path> directories;
    try (Stream<Path> paths = Files.list(context.places().dirs().wslContainers())) {
      directories = paths.filter(Files::isDirectory).toList();
    }
    for (Path directory : directories) {
      recover(context.places().dirs().wslContainer(directory.getFileName().toString()));
    }
  }

  private void recover(ContainerDir directory) throws IOException, InterruptedException {
    Optional<ContainerRecord> record;
    try {
      record = ContainerState.read(directory);
    } catch (IOException | AgentException e) {
      // nothing is known about it, so nothing of it is touched
      LOG.log(System.Logger.Level.ERROR, "left alone: " + directory.path(), e);
      return;
    }
    if (record.isEmpty()) {
      Trees.remove(directory.path()); // not begun, or all but gone
      return;
    }
    var state = new ContainerState(directory, record.get());
    context.states().put(state.name(), state);
    try (var _ = context.locks().lock(state.name())) {
      settle(state);
    } catch (IOException | ToolFailed | AgentException e) {
      state.view().update(view -> view.troubled(String.valueOf(e.getMessage())));
      LOG.log(System.Logger.Level.WARNING, "cannot bring back " + state.record().id(), e);
    }
  }

  private void settle(ContainerState state) throws ToolFailed, IOException, InterruptedException {
    switch (state.record().phase()) {
      case CREATING, REMOVING -> new WslRemover(context).dismantle(state);
      case CREATED, ENDED -> {}
      case STARTING -> finishOrUndoStart(state);
      case RUNNING, PAUSED -> {
        if (state.record().phase() == Phase.PAUSED
            && context.runtime().state(state.name()).equals("running")) {
          state.save(record -> record.withPhase(Phase.PAUSED, Phase.RUNNING));
        }
        WslExec.endAbandoned(context, state);
        new WslExitWatcher(context).watch(state);
      }
    }
  }

  /** The process may have been let go just before the agent died: then it counts as started. */
  private void finishOrUndoStart(ContainerState state)
      throws ToolFailed, IOException, InterruptedException {
    boolean ran =
        state.record().processes().isPresent()
            && (Files.exists(state.directory().exitCode(state.name()))
                || context.runtime().state(state.name()).equals("running"));
    if (ran) {
      state.save(old -> old.running(old.startedAt().orElse(context.clock().instant())));
      new WslExitWatcher(context).watch(state);
      return;
    }
    new WslRemover(context).takeProcesses(state);
    state.save(ContainerRecord::notStarted);
  }
}
