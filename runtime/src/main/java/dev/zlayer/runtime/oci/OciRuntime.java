package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.host.linux.CgroupWarmer;
import dev.zlayer.host.linux.Cgroups;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.process.Detaching;
import dev.zlayer.image.ImageStore;
import dev.zlayer.image.LocalImages;
import dev.zlayer.image.snapshot.Snapshot;
import dev.zlayer.image.snapshot.Snapshots;
import dev.zlayer.image.store.InUse;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Connectable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Exportable;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.Images;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.Preparable;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.port.Renamable;
import dev.zlayer.port.Updatable;
import dev.zlayer.port.VolumeSyncing;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.Identities;
import dev.zlayer.runtime.lifecycle.ImageCheck;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.log.LogRotation;
import dev.zlayer.runtime.observe.SamplerLoop;
import dev.zlayer.runtime.observe.StatsSampler;
import dev.zlayer.runtime.oci.gpu.GpuUse;
import dev.zlayer.runtime.oci.gpu.Gpus;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.OciCommands;
import dev.zlayer.runtime.oci.tool.OciTools;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.time.InstantSource;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Runs containers through an OCI runtime under conmon, as {@link ContainerRuntime} tells. */
public final class OciRuntime implements ContainerRuntime, InUse, AutoCloseable {
  private final OciContext context;
  private final LocalImages images;
  private final OciTools tools;
  private final Creator creating;
  private final Capabilities capabilities;
  private final SamplerLoop sampling;

  private OciRuntime(OciContext context, LocalImages images, OciTools tools, SamplerLoop sampling) {
    this.sampling = sampling;
    this.context = context;
    this.images = images;
    this.tools = tools;
    this.creating = new Creator(context);
    this.capabilities =
        new Capabilities(
            Set.of(Platform.of("linux", Machine.architecture())),
            Set.of(Capabilities.ArtifactKind.ROOT_FILE_SYSTEM),
            Set.of(
                Archivable.class,
                Attachable.class,
                Exportable.class,
                Pausable.class,
                Preparable.class,
                ProcessListing.class,
                Connectable.class,
                Renamable.class,
                Updatable.class,
                VolumeSyncing.class));
  }

  /** What a runtime is built from; it closes none of it. */
  public record Parts(
      DataDir dirs,
      ImageStore store,
      Snapshots snapshots,
      Networks networks,
      OciSettings settings,
      InstantSource clock,
      Faults faults,
      Identities identities) {
    /** Without anybody who knows containers besides their records. */
    public Parts(
        DataDir dirs,
        ImageStore store,
        Snapshots snapshots,
        Networks networks,
        OciSettings settings,
        InstantSource clock,
        Faults faults) {
      this(dirs, store, snapshots, networks, settings, clock, faults, Identities.NONE);
    }
  }

  /**
   * Finds the containers of earlier agents and finishes or undoes what those were doing. Only one
   * agent may be open on a directory.
   *
   * @throws AgentException.Configuration a part is missing on this host
   */
  public static OciRuntime open(Parts parts) throws InterruptedException {
    DataDir dirs = parts.dirs();
    try {
      PrivateDirectory.directories(dirs);
      OciTools tools = OciTools.find(parts.settings().tools(), dirs.ociTools());
      var host = HostFactsReader.read(tools, parts.settings().seccompProfile());
      var runtime =
          new OciCommands(
              tools.runtime().path(),
              tools.runtime().sealed(),
              dirs.ociState(),
              host.cgroups().systemd(),
              tools.dialect(),
              tools.runtime().sendsTerminals(),
              parts.settings().toolLimit());
      var sampler = new StatsSampler(parts.clock());
      Cgroups groups = Cgroups.detect();
      var states = new ConcurrentHashMap<String, ContainerState>();
      var locks = new KeyedLock<String>();
      var context =
          new OciContext(
              dirs,
              parts.settings(),
              host,
              runtime,
              new Conmon(tools.conmon(), runtime, Detaching.open()),
              new Roots(parts.snapshots()),
              parts.store().layers(),
              parts.networks(),
              new Volumes(dirs.volumes()),
              new MountedFiles(dirs.volumes()),
              LogRotation.open(dirs.containers()),
              DirectoryWatchLoop.open(
                  "log-follow",
                  dirs.containers(),
                  List.of(
                      StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_MODIFY)),
              ExitWatchLoop.open(),
              new FirstProcesses(),
              groups,
              CgroupWarmer.open(groups),
              sampler,
              Gpus.open(
                  new Gpus.Parts(
                      parts.settings().cdiDirectories(),
                      parts.settings().driverRoot(),
                      dirs.gpus(),
                      dirs.mps(),
                      locks,
                      () -> gpuUses(states.values()),
                      parts.clock(),
                      Pauses.REAL)),
              states,
              locks,
              parts.clock(),
              parts.faults(),
              dirs.tag());
      var opened =
          new OciRuntime(
              context, parts.store().images(), tools, SamplerLoop.start(sampler, parts.clock()));
      new Recovery(context, parts.identities()).recover();
      context.gpus().changed();
      return opened;
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot open %s: %s".formatted(dirs.data(), e.getMessage()), e);
    }
  }

  @Override
  public String name() {
    return "oci";
  }

  @Override
  public Capabilities capabilities() {
    return capabilities;
  }

  @Override
  public Images images() {
    return images;
  }

  /** Which programs do the work, and why not others. */
  public OciTools tools() {
    return tools;
  }

  /** Prepares for commands in containers as soon as callers of that socket announce them. */
  public void listen(Path socket) {
    if (context.runtime().attachesAtOnce()) {
      context.attaching().listen(socket);
    }
  }

  /** The GPUs of this host. */
  public Gpus gpus() {
    return context.gpus();
  }

  private static List<GpuUse> gpuUses(Collection<ContainerState> states) {
    return states.stream()
        .map(ContainerState::record)
        .flatMap(
            record ->
                record.spec().gpu().stream()
                    .map(gpu -> new GpuUse(record.id(), gpu, record.gpus())))
        .toList();
  }

  /** What all running containers use, kept up to date while somebody asks. */
  public StatsSampler stats() {
    return context.sampler();
  }

  @Override
  public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
    try (var _ = images.hold(spec.image())) {
      ImageDetails image = ImageCheck.find(name(), capabilities, images, spec);
      return new OciContainer(context, creating.create(id, spec, image));
    }
  }

  /** Which images and layers the containers need; for whoever removes images. */
  @Override
  public List<InUse.Use> uses() {
    return context.states().values().stream()
        .map(
            state ->
                new InUse.Use(
                    state.record().id().toString(),
                    Optional.of(state.record().image()),
                    context.roots().find(state.name()).map(Snapshot::layers).orElse(List.of())))
        .toList();
  }

  @Override
  public Optional<Container> find(ContainerId id) {
    return context.find(id).filter(OciRuntime::made).map(state -> new OciContainer(context, state));
  }

  @Override
  public List<Container> list() {
    return context.states().values().stream()
        .filter(OciRuntime::made)
        .<Container>map(state -> new OciContainer(context, state))
        .toList();
  }

  private static boolean made(ContainerState state) {
    return state.record().phase() != Phase.CREATING;
  }

  /** Leaves the containers running and stops watching them. */
  @Override
  public void close() {
    sampling.close();
    context.gpus().close();
    context.exits().close();
    context.conmon().close();
    context.runtime().close();
    context.attaching().close();
    context.firsts().close();
    try {
      context.rotation().close();
      context.logWatch().close();
    } catch (IOException e) {
      throw new AgentException.Internal("cannot stop watching logs", e);
    }
  }
}
