package dev.zlayer.runtime.oci;

import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.life.View;
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
final class Dismantling {
  private final Workshop shop;

  Dismantling(Workshop shop) {
    this.shop = shop;
  }

  /** The caller holds the container's lock. */
  void dismantle(Cell cell) throws InterruptedException {
    try {
      takeProcesses(cell);
      shop.faults().reached("remove.processes");
      shop.networks().detach(cell.name());
      shop.faults().reached("remove.network");
      shop.roots().remove(cell.name());
      SharedMemory.unmount(cell);
      shop.faults().reached("remove.root");
      shop.volumes().removeAnonymous(cell.name());
      shop.faults().reached("remove.volumes");
      cell.view().update(View::gone);
      boolean _ = shop.firsts().waitStatus(cell.name()).isPresent();
      removeDirectory(cell);
      shop.faults().reached("remove.directory");
      shop.cells().remove(cell.name());
    } catch (IOException e) {
      throw failed(cell, String.valueOf(e.getMessage()), e);
    } catch (ToolFailed e) {
      throw failed(cell, e.reason(), e);
    } catch (AgentException e) {
      cell.view().update(view -> view.troubled("could not be removed: " + e.getMessage()));
      throw e;
    }
  }

  /** Leaves no process of the container, no monitor, and nothing that the OCI runtime knows. */
  void takeProcesses(Cell cell) throws ToolFailed, IOException, InterruptedException {
    Optional<ProcessIdentity> monitor = monitor(cell);
    if (monitor.isPresent()) {
      shop.runtime().delete(cell.name());
      endMonitor(monitor.get());
      // it may have been about to create the container when it was told to end
      shop.runtime().delete(cell.name());
    } else if (cell.record().spec().gpu().isPresent()) {
      shop.runtime().delete(cell.name()); // only the runtime runs the hooks that came with a GPU
    }
    shop.runtime().forget(cell.name(), shop.group(cell));
  }

  private static Optional<ProcessIdentity> monitor(Cell cell) {
    ContainerDir directory = cell.directory();
    return cell.record()
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
    shop.exits().onEnd(monitor, ended::countDown);
    if (!ended.await(1, TimeUnit.SECONDS)) {
      monitor.signal(Signal.KILL.number());
      Deadline deadline = Deadline.after(shop.settings().killLimit());
      if (!ended.await(deadline.leftNanos(), TimeUnit.NANOSECONDS)) {
        throw new AgentException.Timeout(
            "waiting for monitor %d to end".formatted(monitor.pid()), deadline.limit());
      }
    }
  }

  /** The record goes last: while it is there, the next start knows what to finish. */
  private static void removeDirectory(Cell cell) throws IOException {
    var directory = cell.directory();
    for (var part : List.of(directory.run(), directory.logs(), directory.path())) {
      RootedDirectory.removeTree(part);
    }
  }

  private static AgentException failed(Cell cell, String reason, Exception cause) {
    cell.view().update(view -> view.troubled("could not be removed: " + reason));
    return new AgentException.Internal(
        "container %s could not be removed: %s".formatted(cell.record().id(), reason), cause);
  }
}
