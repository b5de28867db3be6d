package dev.zlayer.runtime.oci;

import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.MemoryLogs;
import dev.zlayer.runtime.lifecycle.View;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Takes everything of a container away, in the reverse order of making it. Every step finds out by
 * itself whether there is anything to do, so it serves a removal, a failed creation, and the
 * completion of either after a crash.
 */
final class Remover {
  private final OciContext context;

  Remover(OciContext context) {
    this.context = context;
  }

  /** The caller holds the container's lock. */
  void dismantle(ContainerState state) throws InterruptedException {
    try {
      takeProcesses(state);
      context.faults().reached("remove.processes");
      context.networks().detach(state.name());
      context.faults().reached("remove.network");
      UserMounts.remove(context, state.name());
      context.roots().remove(state.name());
      SharedMemory.unmount(state);
      Volumes.unmountSubpaths(state.directory());
      MemoryLogs.unmount(state);
      context.faults().reached("remove.root");
      context.volumes().removeAnonymous(state.name());
      context.faults().reached("remove.volumes");
      state.view().update(View::gone);
      boolean _ = context.firsts().waitStatus(state.name()).isPresent();
      removeDirectory(state);
      context.faults().reached("remove.directory");
      context.mounted().forget(state.name());
      context.states().remove(state.name());
      if (state.record().spec().gpu().isPresent()) {
        context.gpus().changed();
      }
    } catch (IOException e) {
      throw failed(state, String.valueOf(e.getMessage()), e);
    } catch (ToolFailed e) {
      throw failed(state, e.reason(), e);
    } catch (AgentException e) {
      state.view().update(view -> view.troubled("could not be removed: " + e.getMessage()));
      throw e;
    }
  }

  /** Leaves no process of the container, no monitor, and nothing that the OCI runtime knows. */
  void takeProcesses(ContainerState state) throws ToolFailed, IOException, InterruptedException {
    Optional<ProcessIdentity> monitor = monitor(state);
    if (monitor.isPresent()) {
      context.runtime().delete(state.name());
      endMonitor(monitor.get());
      // it may have been about to create the container when it was told to end
      context.runtime().delete(state.name());
    } else if (state.record().spec().gpu().isPresent()) {
      context
          .runtime()
          .delete(state.name()); // only the runtime runs the hooks that came with a GPU
    }
    context.runtime().forget(state.name(), context.group(state));
  }

  private static Optional<ProcessIdentity> monitor(ContainerState state) {
    ContainerDir directory = state.directory();
    return state
        .record()
        .processes()
        .map(ContainerRecord.Processes::monitor)
        .or(
            () ->
                ProcessIdentity.of(Conmon.monitorPid(directory))
                    .filter(process -> monitors(process, directory)))
        .filter(ProcessIdentity::alive);
  }

  /** A number from a file may belong to somebody else by now; the monitor was told that file. */
  private static boolean monitors(ProcessIdentity process, ContainerDir directory) {
    return ProcessHandle.of(process.pid())
        .flatMap(handle -> handle.info().arguments())
        .filter(arguments -> List.of(arguments).contains(directory.monitorPid().toString()))
        .isPresent();
  }

  /** A monitor whose container is gone ends by itself; one that does not is helped. */
  private void endMonitor(ProcessIdentity monitor) throws IOException, InterruptedException {
    var ended = new CountDownLatch(1);
    context.exits().onEnd(monitor, ended::countDown);
    if (!ended.await(1, TimeUnit.SECONDS)) {
      monitor.signal(Signal.KILL.number());
      Deadline deadline = Deadline.after(context.settings().killLimit());
      if (!ended.await(deadline.leftNanos(), TimeUnit.NANOSECONDS)) {
        throw new AgentException.Timeout(
            "waiting for monitor %d to end".formatted(monitor.pid()), deadline.limit());
      }
    }
  }

  /** The record goes last: while it is there, the next start knows what to finish. */
  private static void removeDirectory(ContainerState state) throws IOException {
    var directory = state.directory();
    for (var part : List.of(directory.run(), directory.logs(), directory.path())) {
      RootedDirectory.removeTree(part);
    }
  }

  private static AgentException failed(ContainerState state, String reason, Exception cause) {
    state.view().update(view -> view.troubled("could not be removed: " + reason));
    return new AgentException.Internal(
        "container %s could not be removed: %s".formatted(state.record().id(), reason), cause);
  }
}
