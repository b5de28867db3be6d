package dev.zlayer.runtime.wsl;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.View;
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
record WslRemover(WslContext context) {
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
  void dismantle(ContainerState state) throws InterruptedException {
    try {
      takeProcesses(state);
      context.faults().reached("remove.processes");
      context.shell().run(REMOVE, context.place(state).path());
      context.faults().reached("remove.root");
      state.view().update(View::gone);
      ContainerDir directory = state.directory();
      for (var part : List.of(directory.run(), directory.logs(), directory.path())) {
        Trees.remove(part); // the record goes last: it tells the next start what to finish
      }
      context.faults().reached("remove.directory");
      context.states().remove(state.name());
    } catch (IOException e) {
      throw failed(state, String.valueOf(e.getMessage()), e);
    } catch (ToolFailed e) {
      throw failed(state, e.reason(), e);
    }
  }

  /** Leaves no process of the container, no monitor, and nothing that the OCI runtime knows. */
  void takeProcesses(ContainerState state) throws ToolFailed, IOException, InterruptedException {
    context.runtime().delete(state.name());
    Optional<ProcessIdentity> monitor =
        state.record().processes().map(ContainerRecord.Processes::monitor);
    if (monitor.isPresent()) {
      new WslProcesses(context.shell()).end(monitor.get());
      return;
    }
    long pid = Conmon.monitorPid(state.directory());
    if (pid > 0) {
      context
          .shell()
          .run(
              END_MONITOR,
              Long.toString(pid),
              context.places().inside(state.directory().monitorPid()));
      // it may have been about to create the container when it was told to end
      context.runtime().delete(state.name());
    }
  }

  private static AgentException failed(ContainerState state, String reason, Exception cause) {
    state.view().update(view -> view.troubled("could not be removed: " + reason));
    return new AgentException.Internal(
        "container %s could not be removed: %s".formatted(state.record().id(), reason), cause);
  }
}
