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
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.life.Phase;
import dev.zlayer.runtime.life.Undoing;
import dev.zlayer.runtime.oci.Volumes;
import dev.zlayer.runtime.oci.config.BundleConfig;
import dev.zlayer.runtime.oci.config.BundleInput;
import dev.zlayer.runtime.oci.config.CommandLine;
import dev.zlayer.runtime.oci.config.DeviceNode;
import dev.zlayer.runtime.oci.config.EtcFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Makes everything a process needs; what fails half way is dismantled again. */
record WslCreating(WslShop shop) {
  Cell create(ContainerId id, ContainerSpec spec, ImageDetails image) throws InterruptedException {
    WslCheck.check(spec);
    Volumes.checkNames(spec.fileSystem().mounts());
    List<String> command = CommandLine.of(spec.process(), image.run());
    try (var _ = shop.locks().lock(id.runtimeName())) {
      ContainerDir directory = shop.places().dirs().wslContainer(id.runtimeName());
      if (Files.exists(directory.recordFile())) {
        throw new AgentException.Conflict("container %s exists already".formatted(id));
      }
      var cell =
          new Cell(
              directory,
              ContainerRecord.creating(id, spec, image, command, shop.clock().instant()));
      Undoing.make(cell, () -> make(cell, image), () -> new WslDismantling(shop).dismantle(cell));
      shop.cells().put(cell.name(), cell);
      return cell;
    }
  }

  private void make(Cell cell, ImageDetails image) throws IOException, InterruptedException {
    ContainerSpec spec = cell.record().spec();
    Files.createDirectories(cell.directory().run());
    cell.save(record -> record);
    shop.faults().reached("create.recorded");
    var roots = new WslRoots(shop.shell(), shop.places());
    roots.mount(shop.place(cell), shop.layers().ensure(image));
    shop.faults().reached("create.root");
    WslRoots.Inside inside = roots.look(shop.place(cell));
    List<BundleInput.Bind> binds =
        new ArrayList<>(
            volumes().prepare(shop.place(cell), spec.fileSystem().mounts(), image.run().volumes()));
    shop.faults().reached("create.volumes");
    binds.addAll(etc(cell, inside, binds));
    cell.logs().prepare();
    BundleInput input = input(cell, image, inside, binds);
    AtomicFile.writeRelaxed(cell.directory().config(), JsonText.bytes(BundleConfig.of(input)));
    shop.faults().reached("create.bundle");
    cell.saveDurably(record -> record.withPhase(Phase.CREATED));
    shop.faults().reached("create.done");
  }

  private WslVolumes volumes() {
    return new WslVolumes(
        shop.shell(), shop.places(), WslPaths.of(shop.shell().distribution().name()));
  }

  private BundleInput input(
      Cell cell, ImageDetails image, WslRoots.Inside inside, List<BundleInput.Bind> binds)
      throws IOException, InterruptedException {
    ContainerSpec spec = cell.record().spec();
    WslPlaces.Container place = shop.place(cell);
    var devices = new ArrayList<>(new WslDevices(shop.shell()).of(spec.security()));
    BundleInput.Extra extra = gpu(spec.gpu(), devices);
    return new BundleInput(
        spec,
        image.run(),
        cell.record().command(),
        inside
            .users()
            .lookup(
                spec.process().user().or(image.run()::user).orElse(""),
                spec.process().extraGroups()),
        Path.of(place.root()),
        hostname(cell),
        spec.network().mode() instanceof NetworkSpec.Mode.Host,
        Optional.empty(),
        Path.of(
            spec.security().ipc() instanceof SecuritySpec.Namespace.Private
                ? place.sharedMemory()
                : "/dev/shm"),
        binds,
        devices,
        extra,
        shop.cgroup(cell).oci(),
        shop.host().facts());
  }

  private BundleInput.Extra gpu(Optional<GpuRequest> request, List<DeviceNode> devices)
      throws IOException, InterruptedException {
    if (request.isEmpty()) {
      return BundleInput.Extra.NONE;
    }
    WslGpu gpu = WslGpu.of(request.get(), shop.shell().distribution());
    devices.add(new WslDevices(shop.shell()).one(gpu.device(), "rw"));
    return new BundleInput.Extra(
        gpu.environment(),
        List.of(new BundleInput.Bind(Path.of(gpu.libraries()), gpu.libraries(), true)),
        List.of());
  }

  private static String hostname(Cell cell) {
    return EtcFiles.checkHostname(cell.record().spec().network().hostname().orElse(cell.name()));
  }

  /** Written here, shown from the copy that every start makes in the distribution. */
  private List<BundleInput.Bind> etc(
      Cell cell, WslRoots.Inside inside, List<BundleInput.Bind> volumes) throws IOException {
    Map<String, String> texts =
        EtcFiles.texts(
            cell.record().spec().network(),
            hostname(cell),
            Optional.empty(),
            Optional.empty(),
            inside.resolvConf(),
            false);
    var binds = new ArrayList<BundleInput.Bind>();
    for (var text : texts.entrySet()) {
      String name = Path.of(text.getKey()).getFileName().toString();
      Files.writeString(cell.directory().etc(name), text.getValue());
      if (volumes.stream().noneMatch(bind -> bind.target().equals(text.getKey()))) {
        binds.add(
            new BundleInput.Bind(
                Path.of(shop.place(cell).etc()).resolve(name), text.getKey(), false));
      }
    }
    return binds;
  }
}
