package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.FileChange;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.PathStat;
import dev.zlayer.container.ProcessTable;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.container.Stats;
import dev.zlayer.container.StatsSample;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.image.snapshot.Snapshot;
import dev.zlayer.json.Json;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.port.LogReader;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.port.Renamable;
import dev.zlayer.port.Updatable;
import dev.zlayer.port.VolumeSyncing;
import dev.zlayer.runtime.cni.Attachment;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.MonitoredContainer;
import dev.zlayer.runtime.life.Phase;
import dev.zlayer.runtime.observe.ContainerProcesses;
import dev.zlayer.runtime.oci.config.ResourcesSection;
import dev.zlayer.runtime.oci.config.User;
import dev.zlayer.runtime.oci.exec.ExecProcess;
import dev.zlayer.runtime.oci.exec.Execs;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A handle to one container; see {@link Container}. */
final class OciContainer extends MonitoredContainer
    implements Archivable,
        Attachable,
        Pausable,
        ProcessListing,
        Renamable,
        Updatable,
        VolumeSyncing {
  private final Workshop shop;
  private final Cell cell;

  OciContainer(Workshop shop, Cell cell) {
    super("oci", cell, shop.locks(), shop.stopping());
    this.shop = shop;
    this.cell = cell;
  }

  @Override
  public ContainerDetails inspect() {
    return details(cell.record().name(), shop.roots().find(cell.name()).map(Snapshot::root));
  }

  @Override
  protected void begin() throws InterruptedException {
    new Starting(shop).start(cell);
  }

  @Override
  public void remove(boolean force) throws InterruptedException {
    if (force) {
      shop.stopping().signals().send(cell, Signal.KILL);
    }
    try (var _ = shop.locks().lock(cell.name())) {
      if (cell.view().now().removed()) {
        return;
      }
      if (status().alive()) {
        if (!force) {
          throw stillRuns();
        }
        shop.stopping().stop(cell, Signal.KILL, shop.settings().killLimit());
      }
      cell.save(record -> record.withPhase(Phase.REMOVING));
      shop.faults().reached("remove.recorded");
      new Dismantling(shop).dismantle(cell);
    }
  }

  @Override
  public LogReader logs(LogQuery query) {
    requirePresent();
    return Logs.open(shop, cell, query);
  }

  @Override
  public ExecSession exec(ExecSpec spec) throws InterruptedException {
    requirePresent();
    if (!(status() instanceof ContainerStatus.Running)) {
      throw notRunning();
    }
    try {
      Json process = new Bundles(shop).config(cell).at("process");
      Optional<User> user = Optional.empty();
      if (spec.user().isPresent()) {
        user = Optional.of(Bundles.user(root(), spec.user().get(), List.of()));
      }
      return new Execs(shop.runtime(), shop.faults()::reached)
          .start(
              cell.name(),
              cell.directory().execs(),
              ExecProcess.of(process, spec, user, shop.host().capabilities()),
              spec.stdin());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot run a command in container %s: %s".formatted(id(), e.getMessage()), e);
    }
  }

  @Override
  public Stats stats() {
    return sample().now();
  }

  @Override
  public StatsSample sample() {
    requirePresent();
    requireRunning();
    return shop.sampler().sampleOf(id());
  }

  @Override
  public ProcessTable processes() {
    requirePresent();
    requireRunning();
    try {
      return ContainerProcesses.list(shop.group(cell), shop.clock().instant());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot list the processes of container %s: %s".formatted(id(), e.getMessage()), e);
    }
  }

  @Override
  public Optional<InetAddress> ip() {
    requirePresent();
    return network().flatMap(Attachment::ip);
  }

  @Override
  public List<ContainerDetails.PortBinding> ports() {
    requirePresent();
    return shop.networks().find(cell.name()).map(Attachment::ports).orElse(List.of());
  }

  @Override
  public void pause() throws InterruptedException {
    try (var _ = shop.locks().lock(cell.name())) {
      requirePresent();
      if (cell.record().phase() == Phase.PAUSED) {
        return;
      }
      requireRunning();
      shop.stopping().freeze(cell);
    }
  }

  @Override
  public void unpause() throws InterruptedException {
    try (var _ = shop.locks().lock(cell.name())) {
      requirePresent();
      shop.stopping().thaw(cell);
    }
  }

  @Override
  public void rename(String name) {
    requirePresent();
    if (!name.matches("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}")) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a name: use letters, digits, dots, hyphens and underscores".formatted(name));
    }
    synchronized (shop.cells()) {
      for (Cell other : shop.cells().values()) {
        if (!other.equals(cell) && other.record().name().orElse(other.name()).equals(name)) {
          throw new AgentException.Conflict(
              "the name '%s' is taken by container %s".formatted(name, other.record().id()));
        }
      }
      cell.save(record -> record.named(name));
    }
  }

  @Override
  public List<String> update(Resources resources) throws InterruptedException {
    try (var _ = shop.locks().lock(cell.name())) {
      requirePresent();
      Json limits = ResourcesSection.limits(resources, shop.host());
      if (status().alive()) {
        shop.runtime().update(cell.name(), ResourcesSection.withoutEmpty(limits));
      }
      new Bundles(shop).limits(cell, limits);
      cell.save(record -> record.withResources(resources));
      return List.of();
    } catch (ToolFailed e) {
      throw new AgentException.InvalidSpec(
          "the limits of container %s stay as they were: %s".formatted(id(), e.reason()), e);
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot change the limits of container %s: %s".formatted(id(), e.getMessage()), e);
    }
  }

  @Override
  public ExecSession attach() {
    requirePresent();
    requireRunning();
    return dev.zlayer.runtime.oci.exec.Attachment.open(
        cell.directory().attachSocket(),
        spec().process().terminal() ? Optional.of(cell.directory().control()) : Optional.empty(),
        deadline -> await(WaitCondition.NOT_RUNNING, deadline).status());
  }

  @Override
  public void syncVolumes() throws InterruptedException {
    requirePresent();
    new VolumeCopies(shop.volumes(), shop.settings().volumeSync()).sync(cell);
  }

  @Override
  public PathStat stat(String path) {
    return new ContainerFiles(shop, cell).files().stat(path);
  }

  @Override
  public void copyOut(String path, OutputStream tar) throws InterruptedException {
    new ContainerFiles(shop, cell).files().copyOut(path, tar);
  }

  @Override
  public void copyIn(String directory, InputStream tar) throws InterruptedException {
    new ContainerFiles(shop, cell).files().copyIn(directory, tar);
  }

  @Override
  public void fill(String directory, InputStream tar) throws InterruptedException {
    new ContainerFiles(shop, cell).files().fill(directory, tar);
  }

  @Override
  public List<FileChange> changes() {
    requirePresent();
    return new ContainerFiles(shop, cell).changes();
  }

  private Path root() {
    return shop.roots()
        .find(cell.name())
        .orElseThrow(
            () -> new AgentException.Internal("the root file system of %s is gone".formatted(id())))
        .root();
  }

  private Optional<Attachment> network() {
    return spec().network().mode() instanceof NetworkSpec.Mode.Shared(var with)
        ? shop.networks().find(Bundles.Others.networkOwner(shop, with).name())
        : shop.networks().find(cell.name());
  }
}
