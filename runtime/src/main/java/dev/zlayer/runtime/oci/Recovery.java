package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.Identities;
import dev.zlayer.runtime.lifecycle.MemoryLogs;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.oci.exec.Execs;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds what an earlier agent left, and finishes or undoes what it was in the middle of. */
final class Recovery {
  private static final System.Logger LOG = LazyLogger.of(Recovery.class);
  private static final int PARALLEL = 8;

  private static final ImageRef UNKNOWN_IMAGE = ImageRef.parse("unknown");

  private final OciContext context;
  private final Identities identities;
  private final Remover dismantling;
  private final ExitWatcher ending;

  Recovery(OciContext context, Identities identities) {
    this.context = context;
    this.identities = identities;
    this.dismantling = new Remover(context);
    this.ending = new ExitWatcher(context);
  }

  void recover() throws IOException, InterruptedException {
    try (var scope = new TaskScope("recover", PARALLEL)) {
      for (Path directory : directories()) {
        scope.fork(
            () -> {
              recover(context.dirs().container(directory.getFileName().toString()));
              return directory;
            });
      }
      scope.join();
    }
  }

  private List<Path> directories() throws IOException {
    Files.createDirectories(context.dirs().containers());
    try (Stream<Path> paths = Files.list(context.dirs().containers())) {
      return paths.filter(Files::isDirectory).toList();
    }
  }

  private void recover(ContainerDir directory) throws IOException, InterruptedException {
    Optional<ContainerRecord> record;
    try {
      record = ContainerState.read(directory);
    } catch (IOException | AgentException e) {
      adopt(directory, "its record cannot be read: " + e.getMessage());
      return;
    }
    if (record.isEmpty()) {
      UserMounts.remove(context, directory.path().getFileName().toString());
      RootedDirectory.removeTree(directory.run());
      RootedDirectory.removeTree(directory.path()); // not begun, or all but gone
      return;
    }
    var state = new ContainerState(directory, record.get());
    context.states().put(state.name(), state);
    try (var _ = context.locks().lock(state.name())) {
      settle(state);
    } catch (AgentException e) {
      state.view().update(view -> view.troubled(String.valueOf(e.getMessage())));
      LOG.log(System.Logger.Level.WARNING, "cannot bring back " + state.record().id(), e);
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
    var state =
        new ContainerState(
            directory,
            ContainerRecord.unreadable(
                identity.id(),
                identity.spec(),
                Files.getLastModifiedTime(directory.path()).toInstant()));
    state.view().update(view -> view.troubled(reason));
    context.states().put(name, state);
    LOG.log(System.Logger.Level.ERROR, "container " + identity.id() + ": " + reason);
  }

  private void settle(ContainerState state) throws InterruptedException {
    switch (state.record().phase()) {
      case CREATING, REMOVING -> dismantling.dismantle(state);
      case CREATED, ENDED -> {
        bringBackLogs(state);
        context.networks().published().release(state.name());
      }
      case STARTING -> {
        bringBackLogs(state);
        finishOrUndoStart(state);
      }
      case RUNNING -> {
        bringBackLogs(state);
        endExecs(state);
        watch(state);
      }
      case PAUSED -> {
        bringBackLogs(state);
        if (state(state).equals("running")) {
          state.save(record -> record.withPhase(Phase.PAUSED, Phase.RUNNING));
        }
        endExecs(state);
        watch(state);
      }
    }
  }

  /** Empty, where a restart of the host took them. */
  private static void bringBackLogs(ContainerState state) {
    try {
      MemoryLogs.mount(state);
    } catch (IOException e) {
      throw new AgentException.Internal(
          "no memory for the logs of %s: %s".formatted(state.record().id(), e.getMessage()), e);
    }
  }

  private void watch(ContainerState state) {
    state
        .record()
        .processes()
        .ifPresent(processes -> context.firsts().watch(state.name(), processes.first()));
    ending.watch(state);
  }

  private static void endExecs(ContainerState state) {
    try {
      Execs.endAbandoned(state.directory().execs());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot end what ran in %s: %s".formatted(state.record().id(), e.getMessage()), e);
    }
  }

  /** The process may have been let go just before the agent died: then it counts as started. */
  private void finishOrUndoStart(ContainerState state) throws InterruptedException {
    ContainerRecord record = state.record();
    boolean ran =
        record.processes().isPresent()
            && (Files.exists(state.directory().exitCode(state.name()))
                || runs(state, record.processes().get().first()));
    if (ran) {
      state.save(old -> old.running(old.startedAt().orElse(context.clock().instant())));
      watch(state);
      return;
    }
    try {
      dismantling.takeProcesses(state);
    } catch (ToolFailed e) {
      throw new AgentException.Internal(e.reason(), e);
    } catch (IOException e) {
      throw new AgentException.Internal(String.valueOf(e.getMessage()), e);
    }
    context.networks().published().release(state.name());
    state.save(ContainerRecord::notStarted);
  }

  private boolean runs(ContainerState state, ProcessIdentity first) throws InterruptedException {
    try {
      return context.runtime().runs(state.name(), first);
    } catch (ToolFailed e) {
      throw new AgentException.Internal(e.reason(), e);
    }
  }

  private String state(ContainerState state) throws InterruptedException {
    try {
      return context.runtime().state(state.name());
    } catch (ToolFailed e) {
      throw new AgentException.Internal(e.reason(), e);
    }
  }
}
