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
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.MonitoredContainer;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.oci.config.BundleConfig;
import dev.zlayer.runtime.oci.config.LinuxResources;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Optional;

/** A handle to one container; see {@link dev.zlayer.port.Container}. */
final class WslContainer extends MonitoredContainer implements Pausable, Updatable {
  private final WslContext context;
  private final ContainerState state;

  WslContainer(WslContext context, ContainerState state) {
    super(WslRuntime.NAME, state, context.locks(), context.stopping());
    this.context = context;
    this.state = state;
  }

  /** Its root is in the distribution, where a path of this system does not lead. */
  @Override
  public ContainerDetails inspect() {
    return details(Optional.empty());
  }

  @Override
  protected void begin() throws InterruptedException {
    new WslStarter(context).start(state);
  }

  @Override
  public void remove(boolean force) throws InterruptedException {
    if (force) {
      boolean _ = context.stopping().signal(state, Signal.KILL);
    }
    try (var _ = context.locks().lock(state.name())) {
      if (state.view().now().removed()) {
        return;
      }
      if (status().alive()) {
        if (!force) {
          throw stillRuns();
        }
        context.stopping().stop(state, Signal.KILL, context.settings().killLimit());
      }
      state.save(record -> record.withPhase(Phase.REMOVING));
      context.faults().reached("remove.recorded");
      new WslRemover(context).dismantle(state);
    }
  }

  @Override
  public LogReader logs(LogQuery query) {
    requirePresent();
    return context.logs(state, query);
  }

  @Override
  public ExecSession exec(ExecSpec spec) throws InterruptedException {
    requirePresent();
    if (!(status() instanceof ContainerStatus.Running)) {
      throw notRunning();
    }
    try {
      return WslExec.start(context, state, spec);
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
      return WslStats.of(context.clock().instant(), context.runtime().stats(state.name()));
    } catch (ToolFailed e) {
      throw new AgentException.Internal(
          "cannot read the resource usage of container %s: %s".formatted(id(), e.reason()), e);
    }
  }

  @Override
  public void pause() throws InterruptedException {
    try (var _ = context.locks().lock(state.name())) {
      requirePresent();
      if (state.record().phase() != Phase.PAUSED) {
        requireRunning();
        context.stopping().freeze(state);
      }
    }
  }

  @Override
  public void unpause() throws InterruptedException {
    try (var _ = context.locks().lock(state.name())) {
      requirePresent();
      context.stopping().thaw(state);
    }
  }

  @Override
  public List<String> update(Resources resources) throws InterruptedException {
    try (var _ = context.locks().lock(state.name())) {
      requirePresent();
      Json limits = LinuxResources.limits(resources, context.host().facts());
      if (status().alive()) {
        context.runtime().update(state.name(), LinuxResources.withoutEmpty(limits));
      }
      // what every start copies into the distribution
      Json config = JsonText.parse(Files.readAllBytes(state.directory().config()));
      AtomicFile.writeRelaxed(
          state.directory().config(), JsonText.bytes(BundleConfig.withLimits(config, limits)));
      state.save(record -> record.withResources(resources));
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
