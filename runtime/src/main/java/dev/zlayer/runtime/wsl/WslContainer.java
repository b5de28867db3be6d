package dev.zlayer.runtime.wsl;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.container.Stats;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.ExecSession;
import dev.zlayer.port.LogReader;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.Updatable;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.MonitoredContainer;
import dev.zlayer.runtime.life.Phase;
import dev.zlayer.runtime.oci.config.BundleConfig;
import dev.zlayer.runtime.oci.config.ResourcesSection;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Optional;

/** A handle to one container; see {@link dev.zlayer.port.Container}. */
final class WslContainer extends MonitoredContainer implements Pausable, Updatable {
  private final WslShop shop;
  private final Cell cell;

  WslContainer(WslShop shop, Cell cell) {
    super(WslRuntime.NAME, cell, shop.locks(), shop.stopping());
    this.shop = shop;
    this.cell = cell;
  }

  /** Its root is in the distribution, where a path of this system does not lead. */
  @Override
  public ContainerDetails inspect() {
    return details(Optional.empty(), Optional.empty());
  }

  @Override
  protected void begin() throws InterruptedException {
    new WslStarting(shop).start(cell);
  }

  @Override
  public void remove(boolean force) throws InterruptedException {
    if (force) {
      boolean _ = shop.stopping().signal(cell, Signal.KILL);
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
      new WslDismantling(shop).dismantle(cell);
    }
  }

  @Override
  public LogReader logs(LogQuery query) {
    requirePresent();
    return shop.logs(cell, query);
  }

  @Override
  public ExecSession exec(ExecSpec spec) throws InterruptedException {
    requirePresent();
    if (!(status() instanceof ContainerStatus.Running)) {
      throw notRunning();
    }
    try {
      return WslExec.start(shop, cell, spec);
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot run a command in container %s: %s".formatted(id(), e.getMessage()), e);
    }
  }

  @Override
  public Stats stats() throws InterruptedException {
    requirePresent();
    requireRunning();
    try {
      return WslStats.of(shop.clock().instant(), shop.runtime().stats(cell.name()));
    } catch (ToolFailed e) {
      throw new AgentException.Internal(
          "cannot tell what container %s uses: %s".formatted(id(), e.reason()), e);
    }
  }

  @Override
  public void pause() throws InterruptedException {
    try (var _ = shop.locks().lock(cell.name())) {
      requirePresent();
      if (cell.record().phase() != Phase.PAUSED) {
        requireRunning();
        shop.stopping().freeze(cell);
      }
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
  public List<String> update(Resources resources) throws InterruptedException {
    try (var _ = shop.locks().lock(cell.name())) {
      requirePresent();
      Json limits = ResourcesSection.limits(resources, shop.host().facts());
      if (status().alive()) {
        shop.runtime().update(cell.name(), ResourcesSection.withoutEmpty(limits));
      }
      // what every start copies into the distribution
      Json config = JsonText.parse(Files.readAllBytes(cell.directory().config()));
      AtomicFile.writeRelaxed(
          cell.directory().config(), JsonText.bytes(BundleConfig.withLimits(config, limits)));
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
}
