package dev.zlayer.runtime.wsl;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.life.Phase;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds what an earlier agent left, and finishes or undoes what it was in the middle of. */
record WslRecovering(WslShop shop) {
  private static final System.Logger LOG = System.getLogger(WslRecovering.class.getName());

  void recover() throws IOException, InterruptedException {
    List<Path> directories;
    try (Stream<Path> paths = Files.list(shop.places().dirs().wslContainers())) {
      directories = paths.filter(Files::isDirectory).toList();
    }
    for (Path directory : directories) {
      recover(shop.places().dirs().wslContainer(directory.getFileName().toString()));
    }
  }

  private void recover(ContainerDir directory) throws IOException, InterruptedException {
    Optional<ContainerRecord> record;
    try {
      record = Cell.read(directory);
    } catch (IOException | AgentException e) {
      // nothing is known about it, so nothing of it is touched
      LOG.log(System.Logger.Level.ERROR, "left alone: " + directory.path(), e);
      return;
    }
    if (record.isEmpty()) {
      Trees.remove(directory.path()); // not begun, or all but gone
      return;
    }
    var cell = new Cell(directory, record.get());
    shop.cells().put(cell.name(), cell);
    try (var _ = shop.locks().lock(cell.name())) {
      settle(cell);
    } catch (IOException | ToolFailed | AgentException e) {
      cell.view().update(view -> view.troubled(String.valueOf(e.getMessage())));
      LOG.log(System.Logger.Level.WARNING, "cannot bring back " + cell.record().id(), e);
    }
  }

  private void settle(Cell cell) throws ToolFailed, IOException, InterruptedException {
    switch (cell.record().phase()) {
      case CREATING, REMOVING -> new WslDismantling(shop).dismantle(cell);
      case CREATED, ENDED -> {}
      case STARTING -> finishOrUndoStart(cell);
      case RUNNING, PAUSED -> {
        if (cell.record().phase() == Phase.PAUSED
            && shop.runtime().state(cell.name()).equals("running")) {
          cell.save(record -> record.withPhase(Phase.PAUSED, Phase.RUNNING));
        }
        WslExec.endAbandoned(shop, cell);
        new WslEnding(shop).watch(cell);
      }
    }
  }

  /** The process may have been let go just before the agent died: then it counts as started. */
  private void finishOrUndoStart(Cell cell) throws ToolFailed, IOException, InterruptedException {
    boolean ran =
        cell.record().processes().isPresent()
            && (Files.exists(cell.directory().exitCode(cell.name()))
                || shop.runtime().state(cell.name()).equals("running"));
    if (ran) {
      cell.save(old -> old.running(old.startedAt().orElse(shop.clock().instant())));
      new WslEnding(shop).watch(cell);
      return;
    }
    new WslDismantling(shop).takeProcesses(cell);
    cell.save(ContainerRecord::notStarted);
  }
}
