package dev.zlayer.runtime.oci;

import dev.zlayer.container.ConnectionSpec;
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
import dev.zlayer.port.Connectable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.port.Exportable;
import dev.zlayer.port.LogReader;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.Preparable;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.port.Renamable;
import dev.zlayer.port.Updatable;
import dev.zlayer.port.VolumeSyncing;
import dev.zlayer.runtime.cni.Attachment;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.MonitoredContainer;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.observe.ContainerProcesses;
import dev.zlayer.runtime.oci.config.LinuxResources;
import dev.zlayer.runtime.oci.config.User;
import dev.zlayer.runtime.oci.exec.ExecProcess;
import dev.zlayer.runtime.oci.exec.Execs;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A handle to one container; see {@link Container}. */
final class OciContainer extends MonitoredContainer
    implements Archivable,
        Attachable,
        Connectable,
        Exportable,
        Pausable,
        Preparable,
        ProcessListing,
        Renamable,
        Updatable,
        VolumeSyncing {
  private final OciContext context;
  private final ContainerState state;

  OciContainer(OciContext context, ContainerState state) {
    super("oci", state, context.locks(), context.stopping());
    this.context = context;
    this.state = state;
  }

  @Override
  public ContainerDetails inspect() {
    return details(context.roots().find(state.name()).map(Snapshot::root));
  }

  @Override
  public String name() {
    return state.record().name().orElse(state.name());
  }

  @Override
  protected void begin() throws InterruptedException {
    new OciStarter(context).startPrepared(state);
  }

  @Override
  public void prepare() throws InterruptedException {
    try (var _ = context.locks().lock(state.name())) {
      requirePresent();
      new OciStarter(context).prepare(state);
    }
  }

  @Override
  public boolean claim(Map<String, String> labels) {
    if (!(status() instanceof ContainerStatus.Prepared)
        || !context.mounted().unchanged(state.name())) {
      return false;
    }
    state.change(record -> labelled(record, labels));
    return true;
  }

  @Override
  public void label(Map<String, String> labels) {
    requirePresent();
    state.save(record -> labelled(record, labels));
  }

  private static ContainerRecord labelled(ContainerRecord record, Map<String, String> labels) {
    var all = new HashMap<>(record.spec().labels());
    all.putAll(labels);
    return record.withLabels(all);
  }

  @Override
  public void remove(boolean force) throws InterruptedException {
    if (force) {
      context.stopping().signals().send(state, Signal.KILL);
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
      new Remover(context).dismantle(state);
    }
  }

  @Override
  public LogReader logs(LogQuery query) {
    requirePresent();
    return Logs.open(context, state, query);
  }

  @Override
  public ExecSession exec(ExecSpec spec) throws InterruptedException {
    requirePresent();
    if (!(status() instanceof ContainerStatus.Running)) {
      throw notRunning();
    }
    if (context.runtime().attachesAtOnce()) {
      context.attaching().soon();
    }
    try {
      Json process = new Bundles(context).process(state);
      Optional<User> user = Optional.empty();
      if (spec.user().isPresent()) {
        user = Optional.of(Bundles.user(root(), spec.user().get(), List.of()));
      }
      return new Execs(context.runtime(), context.faults()::reached)
          .start(
              state.name(),
              state.directory().execs(),
              ExecProcess.of(process, spec, user, context.host().capabilities()),
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
    if (!(status() instanceof ContainerStatus.Prepared)) {
      requireRunning();
    }
    return context.sampler().sampleOf(id());
  }

  @Override
  public ProcessTable processes() {
    requirePresent();
    requireRunning();
    try {
      return ContainerProcesses.list(
          context.processes(
              state,
              state.record().processes().map(processes -> processes.first().pid()).orElse(0L)),
          context.clock().instant(),
          state.record().ids());
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
  public Optional<InetAddress> ipv6() {
    requirePresent();
    return network().flatMap(Attachment::ipv6);
  }

  @Override
  public List<ContainerDetails.PortBinding> ports() {
    requirePresent();
    return context.networks().find(state.name()).map(Attachment::ports).orElse(List.of());
  }

  @Override
  public void connect(String network, ConnectionSpec wanted) throws InterruptedException {
    try (var _ = context.locks().lock(state.name())) {
      requirePresent();
      context.networks().members().connect(state.name(), network, wanted);
      new Bundles(context).renamed(state);
    }
  }

  @Override
  public void disconnect(String network) throws InterruptedException {
    try (var _ = context.locks().lock(state.name())) {
      requirePresent();
      context.networks().members().disconnect(state.name(), network);
      new Bundles(context).renamed(state);
    }
  }

  @Override
  public void pause() throws InterruptedException {
    try (var _ = context.locks().lock(state.name())) {
      requirePresent();
      if (state.record().phase() == Phase.PAUSED) {
        return;
      }
      requireRunning();
      context.host().cgroups().require("pause");
      context.stopping().freeze(state);
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
  public void rename(String name) {
    requirePresent();
    if (!name.matches("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}")) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a name: use letters, digits, dots, hyphens and underscores".formatted(name));
    }
    synchronized (context.states()) {
      for (ContainerState other : context.states().values()) {
        if (!other.equals(state) && other.record().name().orElse(other.name()).equals(name)) {
          throw new AgentException.Conflict(
              "the name '%s' is taken by container %s".formatted(name, other.record().id()));
        }
      }
      state.save(record -> record.named(name));
    }
  }

  @Override
  public List<String> update(Resources resources) throws InterruptedException {
    try (var _ = context.locks().lock(state.name())) {
      requirePresent();
      Json limits = LinuxResources.limits(resources, context.host());
      if (status().alive() || status() instanceof ContainerStatus.Prepared) {
        context.runtime().update(state.name(), LinuxResources.withoutEmpty(limits));
      }
      new Bundles(context).limits(state, limits);
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

  @Override
  public ExecSession attach() {
    requirePresent();
    requireRunning();
    return dev.zlayer.runtime.oci.exec.AttachedStreams.open(
        state.directory().attachSocket(),
        Optional.of(
                new dev.zlayer.runtime.oci.exec.AttachedStreams.Terminal(
                    state.record().processes().map(ContainerRecord.Processes::first),
                    state.directory().control()))
            .filter(_ -> spec().process().terminal()),
        deadline -> await(WaitCondition.NOT_RUNNING, deadline).status());
  }

  @Override
  public void syncVolumes() throws InterruptedException {
    requirePresent();
    new VolumeCopies(context.volumes(), context.settings().volumeSync()).sync(state);
  }

  @Override
  public PathStat stat(String path) {
    return new ContainerFiles(context, state).stat(path);
  }

  @Override
  public void copyOut(String path, OutputStream tar) throws InterruptedException {
    new ContainerFiles(context, state).copyOut(path, tar);
  }

  @Override
  public void copyIn(String directory, InputStream tar) throws InterruptedException {
    new ContainerFiles(context, state).copyIn(directory, tar);
  }

  @Override
  public void fill(String directory, InputStream tar) throws InterruptedException {
    new ContainerFiles(context, state).fill(directory, tar);
  }

  @Override
  public void export(OutputStream tar) throws InterruptedException {
    requirePresent();
    new ContainerFiles(context, state).export(tar);
  }

  @Override
  public void exportChanges(OutputStream layer) throws InterruptedException {
    requirePresent();
    new ContainerFiles(context, state).exportChanges(layer);
  }

  @Override
  public List<FileChange> changes() {
    requirePresent();
    return new ContainerFiles(context, state).changes();
  }

  private Path root() {
    return context
        .roots()
        .find(state.name())
        .orElseThrow(
            () ->
                new AgentException.Internal(
                    "the root file system of %s does not exist".formatted(id())))
        .root();
  }

  private Optional<Attachment> network() {
    return spec().network().mode() instanceof NetworkSpec.Mode.Shared(var with)
        ? context.networks().find(Bundles.Others.networkOwner(context, with).name())
        : context.networks().find(state.name());
  }
}
