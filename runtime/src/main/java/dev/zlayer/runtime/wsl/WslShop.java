package dev.zlayer.runtime.wsl;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DirectoryWatch;
import dev.zlayer.port.LogReader;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.Stopping;
import dev.zlayer.runtime.log.LogFileReader;
import dev.zlayer.runtime.log.LogRotation;
import dev.zlayer.runtime.oci.CgroupPath;
import dev.zlayer.runtime.oci.Faults;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.OciCommands;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import dev.zlayer.task.KeyedLock;
import java.time.InstantSource;
import java.util.Map;

/** Everything the steps of a container's life share. */
record WslShop(
    WslSettings settings,
    WslShell shell,
    WslPlaces places,
    WslHost host,
    OciCommands runtime,
    Conmon conmon,
    WslLayers layers,
    DirectoryWatch logWatch,
    LogRotation rotation,
    Map<String, Cell> cells,
    KeyedLock<String> locks,
    InstantSource clock,
    Faults faults) {
  WslPlaces.Container place(Cell cell) {
    return places.container(cell.name());
  }

  CgroupPath cgroup(Cell cell) {
    return CgroupPath.of(
        places.dirs().tag(),
        cell.name(),
        cell.record().spec().resources().cgroupParent(),
        runtime.systemd());
  }

  Stopping stopping() {
    return new Stopping(runtime, settings.killLimit(), new Signals(runtime), faults::reached);
  }

  /** Through the OCI runtime, which knows the process by more than its number. */
  private record Signals(OciCommands runtime) implements Stopping.Signals {
    @Override
    public boolean send(Cell cell, Signal signal) throws InterruptedException {
      return cell.status().alive() && runtime.kill(cell.name(), signal);
    }

    @Override
    public boolean frozen(Cell cell) throws InterruptedException {
      try {
        return runtime.state(cell.name()).equals("paused");
      } catch (ToolFailed e) {
        throw new AgentException.Internal(e.reason(), e);
      }
    }
  }

  LogReader logs(Cell cell, LogQuery query) {
    return LogFileReader.open(cell.logs(), query, logWatch, cell, clock);
  }
}
