package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerId;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.host.linux.AttachAheadLoop;
import dev.zlayer.host.linux.Cgroups;
import dev.zlayer.host.linux.ControlGroup;
import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.Stopping;
import dev.zlayer.runtime.log.LogRotation;
import dev.zlayer.runtime.observe.StatsSampler;
import dev.zlayer.runtime.oci.config.HostFacts;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.OciCommands;
import dev.zlayer.task.KeyedLock;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;

/** Everything the steps of a container's life share. */
record Workshop(
    DataDir dirs,
    OciSettings settings,
    HostFacts host,
    OciCommands runtime,
    Conmon conmon,
    Roots roots,
    LayerStore layers,
    Networks networks,
    Volumes volumes,
    LogRotation rotation,
    DirectoryWatchLoop logWatch,
    ExitWatchLoop exits,
    FirstProcesses firsts,
    Cgroups cgroups,
    AttachAheadLoop attaching,
    StatsSampler sampler,
    Map<String, Cell> cells,
    KeyedLock<String> locks,
    InstantSource clock,
    Faults faults,
    String tag) {

  Optional<Cell> find(ContainerId id) {
    return Optional.ofNullable(cells.get(id.runtimeName()))
        .or(() -> cells.values().stream().filter(cell -> cell.record().id().equals(id)).findAny());
  }

  Stopping stopping() {
    return new Stopping(runtime, settings.killLimit(), new FirstProcess(runtime), faults::reached);
  }

  CgroupPath cgroup(String name, Optional<String> parent) {
    return CgroupPath.of(tag, name, parent, runtime.systemd());
  }

  CgroupPath cgroup(Cell cell) {
    return cgroup(cell.name(), cell.record().spec().resources().cgroupParent());
  }

  ControlGroup group(Cell cell) {
    return cgroups.at(cgroup(cell).directory());
  }
}
