package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerId;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.host.linux.CgroupWarmer;
import dev.zlayer.host.linux.Cgroups;
import dev.zlayer.host.linux.ControlGroup;
import dev.zlayer.host.linux.NamespaceProcesses;
import dev.zlayer.host.linux.ProcessGroup;
import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.Stopping;
import dev.zlayer.runtime.log.LogRotation;
import dev.zlayer.runtime.observe.StatsSampler;
import dev.zlayer.runtime.oci.config.KernelFacts;
import dev.zlayer.runtime.oci.gpu.Gpus;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.OciCommands;
import dev.zlayer.task.KeyedLock;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;

/** Everything the steps of a container's life share. */
record OciContext(
    DataDir dirs,
    OciSettings settings,
    KernelFacts host,
    OciCommands runtime,
    Conmon conmon,
    Roots roots,
    LayerStore layers,
    Networks networks,
    Volumes volumes,
    MountedFiles mounted,
    LogRotation rotation,
    DirectoryWatchLoop logWatch,
    ExitWatchLoop exits,
    FirstProcesses firsts,
    Cgroups cgroups,
    CgroupWarmer attaching,
    StatsSampler sampler,
    Gpus gpus,
    Map<String, ContainerState> states,
    KeyedLock<String> locks,
    InstantSource clock,
    Faults faults,
    String tag) {

  Optional<ContainerState> find(ContainerId id) {
    return Optional.ofNullable(states.get(id.runtimeName()))
        .or(
            () ->
                states.values().stream().filter(state -> state.record().id().equals(id)).findAny());
  }

  Stopping stopping() {
    return new Stopping(runtime, settings.killLimit(), new FirstProcess(runtime), faults::reached);
  }

  CgroupPath cgroup(String name, Optional<String> parent) {
    return CgroupPath.of(tag, name, parent, host.cgroups());
  }

  CgroupPath cgroup(ContainerState state) {
    return cgroup(state.name(), state.record().spec().resources().cgroupParent());
  }

  /** Its processes, by its control group, or by its pid namespace where it has no group. */
  ProcessGroup processes(ContainerState state, long first) {
    return host.cgroups().parent().isEmpty() ? new NamespaceProcesses(first) : group(state);
  }

  ControlGroup group(ContainerState state) {
    return cgroups.at(cgroup(state).directory());
  }
}
