package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.runtime.cni.Attachment;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.life.Phase;
import dev.zlayer.runtime.life.Undoing;
import dev.zlayer.runtime.oci.config.CommandLine;
import dev.zlayer.runtime.oci.config.EtcFiles;
import dev.zlayer.runtime.oci.gpu.GpuWiring;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Makes everything a process needs; what fails half way is dismantled again. */
final class Creating {
  private final Workshop shop;
  private final Bundles bundles;
  private final Dismantling dismantling;

  Creating(Workshop shop) {
    this.shop = shop;
    this.bundles = new Bundles(shop);
    this.dismantling = new Dismantling(shop);
  }

  Cell create(ContainerId id, ContainerSpec spec, ImageDetails image) throws InterruptedException {
    ContainerRecord record =
        ContainerRecord.creating(
            id, spec, image, CommandLine.of(spec.process(), image.run()), shop.clock().instant());
    Volumes.check(spec.fileSystem().mounts());
    checkOthers(spec);
    try (var _ = shop.locks().lock(id.runtimeName())) {
      ContainerDir directory = shop.dirs().container(id.runtimeName());
      if (Files.exists(directory.recordFile())) {
        throw new AgentException.Conflict("container %s exists already".formatted(id));
      }
      var cell = new Cell(directory, record);
      Undoing.make(cell, () -> make(cell, image), () -> dismantling.dismantle(cell));
      shop.cells().put(cell.name(), cell);
      return cell;
    }
  }

  private void make(Cell cell, ImageDetails image) throws IOException, InterruptedException {
    ContainerSpec spec = cell.record().spec();
    Files.createDirectories(cell.directory().path());
    Files.createDirectories(cell.directory().run());
    cell.save(record -> record);
    shop.faults().reached("create.recorded");
    Path root = shop.roots().create(cell.name(), image);
    SharedMemory.mount(cell);
    shop.faults().reached("create.root");
    Bundles.Network network = network(cell.name(), spec.network());
    shop.faults().reached("create.network");
    var volumes =
        shop.volumes()
            .prepare(cell.name(), spec.fileSystem().mounts(), image.run().volumes(), root);
    shop.faults().reached("create.volumes");
    cell.logs().prepare();
    GpuWiring.Wired gpus = gpus(cell);
    bundles.write(cell, image.run(), root, network, volumes, gpus);
    shop.faults().reached("create.bundle");
    cell.saveDurably(record -> record.withPhase(Phase.CREATED));
    shop.faults().reached("create.done");
  }

  /** Chooses while nobody else does, and notes the choice before it is used. */
  private GpuWiring.Wired gpus(Cell cell) throws InterruptedException {
    var wiring = new GpuWiring(shop.settings().cdiDirectories());
    Optional<GpuRequest> request = cell.record().spec().gpu();
    if (request.isEmpty()) {
      return wiring.wire(request, Set.of());
    }
    try (var _ = shop.locks().lock("gpu")) {
      var taken = new HashSet<String>();
      shop.cells().values().forEach(other -> taken.addAll(other.record().gpus()));
      GpuWiring.Wired wired = wiring.wire(request, taken);
      cell.save(record -> record.withGpus(wired.names()));
      shop.cells().put(cell.name(), cell);
      return wired;
    }
  }

  private void checkOthers(ContainerSpec spec) {
    for (SecuritySpec.Namespace namespace : List.of(spec.security().pid(), spec.security().ipc())) {
      if (namespace instanceof SecuritySpec.Namespace.Shared(var with)) {
        Bundles.Others.cell(shop, with);
      }
    }
    boolean ownAddress = spec.network().mode() instanceof NetworkSpec.Mode.Bridge;
    if (!ownAddress && !spec.network().ports().isEmpty()) {
      throw new AgentException.InvalidSpec(
          "ports can only be published by a container on a bridge network");
    }
  }

  private Bundles.Network network(String name, NetworkSpec spec) throws InterruptedException {
    String hostname = EtcFiles.checkHostname(spec.hostname().orElse(name));
    return switch (spec.mode()) {
      case NetworkSpec.Mode.Host _ -> plain(true, hostname);
      case NetworkSpec.Mode.None _ -> plain(false, hostname);
      case NetworkSpec.Mode.Bridge _ -> {
        var attached = shop.networks().attach(name, spec);
        yield new Bundles.Network(
            false,
            Optional.of(attached.netns()),
            hostname,
            attached.ip(),
            attached.gateway(),
            Optional.empty());
      }
      case NetworkSpec.Mode.Shared(var with) -> shared(Bundles.Others.networkOwner(shop, with));
    };
  }

  /** The other's namespace, and with it its names: both see one host. */
  private Bundles.Network shared(Cell owner) {
    NetworkSpec network = owner.record().spec().network();
    return new Bundles.Network(
        network.mode() instanceof NetworkSpec.Mode.Host,
        shop.networks().find(owner.name()).map(Attachment::netns),
        network.hostname().orElse(owner.name()),
        Optional.empty(),
        Optional.empty(),
        Optional.of(owner.directory()));
  }

  private static Bundles.Network plain(boolean host, String hostname) {
    return new Bundles.Network(
        host, Optional.empty(), hostname, Optional.empty(), Optional.empty(), Optional.empty());
  }
}
