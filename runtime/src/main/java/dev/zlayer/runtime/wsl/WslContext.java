package dev.zlayer.runtime.wsl;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DirectoryWatch;
import dev.zlayer.port.LogReader;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.Stopping;
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
record WslContext(
    WslSettings settings,
    WslShell shell,
    WslDirectories places,
    WslHost host,
    OciCommands runtime,
    Conmon conmon,
    WslLayers layers,
    DirectoryWatch logWatch,
    LogRotation rotation,
    Map<String, ContainerState> states,
    KeyedLock<String> locks,
    InstantSource clock,
    Faults faults) {
  WslDirectories.Container place(ContainerState state) {
    return places.container(state.name());
  }

  CgroupPath cgroup(ContainerState state) {
    return CgroupPath.of(
        places.dirs().tag(),
        state.name(),
        state.record().spec().resources().cgroupParent(),
        host.facts().cgroups());
  }

  Stopping stopping() {
    return new Stopping(runtime, settings.killLimit(), new Signals(runtime), faults::reached);
  }

  /** Through the OCI runtime, which knows the process by more than its number. */
  private record Signals(OciCommands runtime) implements Stopping.Signals {
    @Override
    public boolean send(ContainerState state, Signal signal) throws InterruptedException {
      return state.status().alive() && runtime.kill(state.name(), signal);
    }

    @Override
    public boolean frozen(ContainerState state) throws InterruptedException {
      try {
        return runtime.state(state.name()).equals("paused");
      } catch (ToolFailed e) {
        throw new AgentException.Internal(e.reason(), e);
      }
    }
  }

  LogReader logs(ContainerState state, LogQuery query) {
    return LogFileReader.open(state.logs(), query, logWatch, state, clock);
  }
}
