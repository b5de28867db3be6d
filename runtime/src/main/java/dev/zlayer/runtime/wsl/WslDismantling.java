package dev.zlayer.runtime.wsl;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.life.View;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Takes everything of a container away, in the reverse order of making it. Every step finds out by
 * itself whether there is anything to do, so it serves a removal, a failed creation, and the
 * completion of either after a crash.
 */
record WslDismantling(WslShop shop) {
  private static final String REMOVE =
      """
      for part in root shm; do
        while mountpoint -q "$1/$part"; do umount "$1/$part" || umount -l "$1/$part"; done
      done
      rm -rf --one-file-system -- "$1"
      """;

  /** A number from a file may belong to somebody else by now; the monitor was told that file. */
  private static final String END_MONITOR =
      """
      if [ -r "/proc/$1/cmdline" ] \\
        && tr '\\0' '\\n' <"/proc/$1/cmdline" | grep -qxF -e "$2"; then kill -9 "$1"; fi
      """;

  /** The caller holds the container's lock. */
  void dismantle(Cell cell) throws InterruptedException {
    try {
      takeProcesses(cell);
      shop.faults().reached("remove.processes");
      shop.shell().run(REMOVE, shop.place(cell).path());
      shop.faults().reached("remove.root");
      cell.view().update(View::gone);
      ContainerDir directory = cell.directory();
      for (var part : List.of(directory.run(), directory.logs(), directory.path())) {
        Trees.remove(part); // the record goes last: it tells the next start what to finish
      }
      shop.faults().reached("remove.directory");
      shop.cells().remove(cell.name());
    } catch (IOException e) {
      throw failed(cell, String.valueOf(e.getMessage()), e);
    } catch (ToolFailed e) {
      throw failed(cell, e.reason(), e);
    }
  }

  /** Leaves no process of the container, no monitor, and nothing that the OCI runtime knows. */
  void takeProcesses(Cell cell) throws ToolFailed, IOException, InterruptedException {
    shop.runtime().delete(cell.name());
    Optional<ProcessIdentity> monitor =
        cell.record().processes().map(ContainerRecord.Processes::monitor);
    if (monitor.isPresent()) {
      new WslProcesses(shop.shell()).end(monitor.get());
      return;
    }
    long pid = Conmon.monitorPid(cell.directory());
    if (pid > 0) {
      shop.shell()
          .run(
              END_MONITOR, Long.toString(pid), shop.places().inside(cell.directory().monitorPid()));
      // it may have been about to create the container when it was told to end
      shop.runtime().delete(cell.name());
    }
  }

  private static AgentException failed(Cell cell, String reason, Exception cause) {
    cell.view().update(view -> view.troubled("could not be removed: " + reason));
    return new AgentException.Internal(
        "container %s could not be removed: %s".formatted(cell.record().id(), reason), cause);
  }
}
