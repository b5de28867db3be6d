package dev.zlayer.runtime.wsl;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.CreateUndo;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.oci.Volumes;
import dev.zlayer.runtime.oci.config.BundleConfig;
import dev.zlayer.runtime.oci.config.BundleInput;
import dev.zlayer.runtime.oci.config.DeviceNode;
import dev.zlayer.runtime.oci.config.EtcFiles;
import dev.zlayer.runtime.oci.config.ProcessArguments;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Makes everything a process needs; what fails half way is dismantled again. */
record WslCreator(WslContext context) {
  ContainerState create(ContainerId id, ContainerSpec spec, ImageDetails image)
      throws InterruptedException {
    WslCheck.check(spec);
    Volumes.checkNames(spec.fileSystem().mounts());
    List<String> command = ProcessArguments.of(spec.process(), image.run());
    try (var _ = context.locks().lock(id.runtimeName())) {
      ContainerDir directory = context.places().dirs().wslContainer(id.runtimeName());
      if (Files.exists(directory.recordFile())) {
        throw new AgentException.Conflict("container %s exists already".formatted(id));
      }
      var state =
          new ContainerState(
              directory,
              ContainerRecord.creating(id, spec, image, command, context.clock().instant()));
      CreateUndo.make(
          state, () -> make(state, image), () -> new WslRemover(context).dismantle(state));
      context.states().put(state.name(), state);
      return state;
    }
  }

  private void make(ContainerState state, ImageDetails image)
      throws IOException, InterruptedException {
    ContainerSpec spec = state.record().spec();
    Files.createDirectories(state.directory().run());
    state.save(record -> record);
    context.faults().reached("create.recorded");
    var roots = new WslRoots(context.shell(), context.places());
    roots.mount(context.place(state), context.layers().ensure(image));
    context.faults().reached("create.root");
    WslRoots.Inside inside = roots.look(context.place(state));
    List<BundleInput.Bind> binds =
        new ArrayList<>(
            volumes()
                .prepare(context.place(state), spec.fileSystem().mounts(), image.run().volumes()));
    context.faults().reached("create.volumes");
    binds.addAll(etc(state, inside, binds));
    state.logs().prepare();
    BundleInput input = input(state, image, inside, binds);
    AtomicFile.writeRelaxed(state.directory().config(), JsonText.bytes(BundleConfig.of(input)));
    context.faults().reached("create.bundle");
    state.saveDurably(record -> record.withPhase(Phase.CREATED));
    context.faults().reached("create.done");
  }

  private WslVolumes volumes() {
    return new WslVolumes(
        context.shell(), context.places(), WslPaths.of(context.shell().distribution().name()));
  }

  private BundleInput input(
      ContainerState state,
      ImageDetails image,
      WslRoots.Inside inside,
      List<BundleInput.Bind> binds)
      throws IOException, InterruptedException {
    ContainerSpec spec = state.record().spec();
    WslDirectories.Container place = context.place(state);
    var devices = new ArrayList<>(new WslDevices(context.shell()).of(spec.security()));
    BundleInput.Extra extra = gpu(spec.gpu(), devices);
    return new BundleInput(
        spec,
        image.run(),
        state.record().command(),
        inside
            .users()
            .lookup(
                spec.process().user().or(image.run()::user).orElse(""),
                spec.process().extraGroups()),
        Path.of(place.root()),
        hostname(state),
        spec.network().mode() instanceof NetworkSpec.Mode.Host,
        Optional.empty(),
        Path.of(
            spec.security().ipc() instanceof SecuritySpec.Namespace.Private
                ? place.sharedMemory()
                : "/dev/shm"),
        binds,
        devices,
        extra,
        Optional.empty(),
        context.cgroup(state).oci(),
        context.host().facts());
  }

  private BundleInput.Extra gpu(Optional<GpuRequest> request, List<DeviceNode> devices)
      throws IOException, InterruptedException {
    if (request.isEmpty()) {
      return BundleInput.Extra.NONE;
    }
    WslGpu gpu = WslGpu.of(request.get(), context.shell().distribution());
    devices.add(new WslDevices(context.shell()).one(gpu.device(), "rw"));
    return new BundleInput.Extra(
        gpu.environment(),
        List.of(new BundleInput.Bind(Path.of(gpu.libraries()), gpu.libraries(), true)),
        List.of());
  }

  private static String hostname(ContainerState state) {
    return EtcFiles.checkHostname(state.record().spec().network().hostname().orElse(state.name()));
  }

  /** Written here, shown from the copy that every start makes in the distribution. */
  private List<BundleInput.Bind> etc(
      ContainerState state, WslRoots.Inside inside, List<BundleInput.Bind> volumes)
      throws IOException {
    Map<String, String> texts =
        EtcFiles.texts(
            state.record().spec().network(),
            hostname(state),
            Optional.empty(),
            Optional.empty(),
            inside.resolvConf(),
            false);
    var binds = new ArrayList<BundleInput.Bind>();
    for (var text : texts.entrySet()) {
      String name = Path.of(text.getKey()).getFileName().toString();
      Files.writeString(state.directory().etc(name), text.getValue());
      if (volumes.stream().noneMatch(bind -> bind.target().equals(text.getKey()))) {
        binds.add(
            new BundleInput.Bind(
                Path.of(context.place(state).etc()).resolve(name),
                text.getKey(),
                state.record().spec().fileSystem().readOnlyRoot()));
      }
    }
    return binds;
  }
}
