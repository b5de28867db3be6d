package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.life.Identities;
import dev.zlayer.runtime.life.Phase;
import dev.zlayer.runtime.oci.exec.Execs;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds what an earlier agent left, and finishes or undoes what it was in the middle of. */
final class Recovering {
  private static final System.Logger LOG = System.getLogger(Recovering.class.getName());
  private static final int PARALLEL = 8;

  private static final ImageRef UNKNOWN_IMAGE = ImageRef.parse("unknown");

  private final Workshop shop;
  private final Identities identities;
  private final Dismantling dismantling;
  private final Ending ending;

  Recovering(Workshop shop, Identities identities) {
    this.shop = shop;
    this.identities = identities;
    this.dismantling = new Dismantling(shop);
    this.ending = new Ending(shop);
  }

  void recover() throws IOException, InterruptedException {
    try (var scope = new TaskScope("recover", PARALLEL)) {
      for (Path directory : directories()) {
        scope.fork(
            () -> {
              recover(shop.dirs().container(directory.getFileName().toString()));
              return directory;
            });
      }
      scope.join();
    }
  }

  private List<Path> directories() throws IOException {
    Files.createDirectories(shop.dirs().containers());
    try (Stream<Path> paths = Files.list(shop.dirs().containers())) {
      return paths.filter(Files::isDirectory).toList();
    }
  }

  private void recover(ContainerDir directory) throws IOException, InterruptedException {
    Optional<ContainerRecord> record;
    try {
      record = Cell.read(directory);
    } catch (IOException | AgentException e) {
      adopt(directory, "its record cannot be read: " + e.getMessage());
      return;
    }
    if (record.isEmpty()) {
      RootedDirectory.removeTree(directory.run());
      RootedDirectory.removeTree(directory.path()); // not begun, or all but gone
      return;
    }
    var cell = new Cell(directory, record.get());
    shop.cells().put(cell.name(), cell);
    try (var _ = shop.locks().lock(cell.name())) {
      settle(cell);
    } catch (AgentException e) {
      cell.view().update(view -> view.troubled(String.valueOf(e.getMessage())));
      LOG.log(System.Logger.Level.WARNING, "cannot bring back " + cell.record().id(), e);
    }
  }

  /**
   * One whose record is damaged stays visible, with a status that is unknown, and can be removed;
   * the file is left as it is until then.
   */
  private void adopt(ContainerDir directory, String reason) throws IOException {
    String name = directory.path().getFileName().toString();
    Identities.Identity identity =
        identities
            .find(name)
            .orElseGet(
                () ->
                    new Identities.Identity(
                        ContainerId.of(ContainerId.STANDALONE, name, 1),
                        ContainerSpec.of(UNKNOWN_IMAGE)));
    var cell =
        new Cell(
            directory,
            ContainerRecord.unreadable(
                identity.id(),
                identity.spec(),
                Files.getLastModifiedTime(directory.path()).toInstant()));
    cell.view().update(view -> view.troubled(reason));
    shop.cells().put(name, cell);
    LOG.log(System.Logger.Level.ERROR, "container " + identity.id() + ": " + reason);
  }

  private void settle(Cell cell) throws InterruptedException {
    switch (cell.record().phase()) {
      case CREATING, REMOVING -> dismantling.dismantle(cell);
      case CREATED, ENDED -> {}
      case STARTING -> finishOrUndoStart(cell);
      case RUNNING -> {
        endExecs(cell);
        watch(cell);
      }
      case PAUSED -> {
        if (state(cell).equals("running")) {
          cell.save(record -> record.withPhase(Phase.PAUSED, Phase.RUNNING));
        }
        endExecs(cell);
        watch(cell);
      }
    }
  }

  private void watch(Cell cell) {
    cell.record()
        .processes()
        .ifPresent(processes -> shop.firsts().watch(cell.name(), processes.first()));
    ending.watch(cell);
  }

  private static void endExecs(Cell cell) {
    try {
      Execs.endAbandoned(cell.directory().execs());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot end what ran in %s: %s".formatted(cell.record().id(), e.getMessage()), e);
    }
  }

  /** The process may have been let go just before the agent died: then it counts as started. */
  private void finishOrUndoStart(Cell cell) throws InterruptedException {
    ContainerRecord record = cell.record();
    boolean ran =
        record.processes().isPresent()
            && (Files.exists(cell.directory().exitCode(cell.name()))
                || runs(cell, record.processes().get().first()));
    if (ran) {
      cell.save(old -> old.running(old.startedAt().orElse(shop.clock().instant())));
      watch(cell);
      return;
    }
    try {
      dismantling.takeProcesses(cell);
    } catch (ToolFailed e) {
      throw new AgentException.Internal(e.reason(), e);
    } catch (IOException e) {
      throw new AgentException.Internal(String.valueOf(e.getMessage()), e);
    }
    cell.save(ContainerRecord::notStarted);
  }

  private boolean runs(Cell cell, ProcessIdentity first) throws InterruptedException {
    try {
      return shop.runtime().runs(cell.name(), first);
    } catch (ToolFailed e) {
      throw new AgentException.Internal(e.reason(), e);
    }
  }

  private String state(Cell cell) throws InterruptedException {
    try {
      return shop.runtime().state(cell.name());
    } catch (ToolFailed e) {
      throw new AgentException.Internal(e.reason(), e);
    }
  }
}
