package dev.zlayer.runtime.wsl;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.DirectoryPollLoop;
import dev.zlayer.image.ImageStore;
import dev.zlayer.image.LocalImages;
import dev.zlayer.image.store.InUse;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.Images;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.Updatable;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.ImageCheck;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.log.LogRotation;
import dev.zlayer.runtime.oci.Faults;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.OciCommands;
import dev.zlayer.task.KeyedLock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Runs Linux containers in a WSL distribution, as {@link ContainerRuntime} tells: everything that
 * Linux does is a command there, and this process needs nothing of Linux itself.
 */
public final class WslRuntime implements ContainerRuntime, AutoCloseable {
  public static final String NAME = "wsl";

  private final WslContext context;
  private final LocalImages images;
  private final Capabilities capabilities;

  private WslRuntime(WslContext context, LocalImages images) {
    this.context = context;
    this.images = images;
    this.capabilities =
        new Capabilities(
            Set.of(Platform.of("linux", context.host().facts().machine())),
            Set.of(Capabilities.ArtifactKind.ROOT_FILE_SYSTEM),
            Set.of(Pausable.class, Updatable.class));
  }

  /** What a runtime is built from; it closes none of it. */
  public record Parts(
      DataDir dirs,
      ImageStore store,
      WslDistribution distribution,
      WslSettings settings,
      InstantSource clock,
      Faults faults) {}

  /**
   * Finds the containers of earlier agents and finishes or undoes what those were doing. Only one
   * agent may be open on a directory.
   *
   * @throws AgentException.Configuration WSL, the distribution or a program in it is missing; says
   *     what to do
   */
  public static WslRuntime open(Parts parts) throws InterruptedException {
    WslStatus.of(parts.distribution()).require();
    DataDir dirs = parts.dirs();
    WslSettings settings = parts.settings();
    try {
      Files.createDirectories(dirs.wslContainers());
      var shell = new WslShell(parts.distribution(), settings.toolLimit());
      WslHost host = WslHost.read(shell, dirs.data());
      var places = new WslDirectories(dirs, host.data());
      var runtime =
          new OciCommands(
              host.runc(),
              Path.of(places.state()),
              host.facts().cgroups().systemd(),
              settings.toolLimit(),
              new WslTransport(parts.distribution()));
      DirectoryPollLoop watch = DirectoryPollLoop.open("wsl-files", settings.look());
      var context =
          new WslContext(
              settings,
              shell,
              places,
              host,
              runtime,
              new Conmon(host.conmon(), runtime),
              new WslLayers(shell, places, parts.store().images()),
              watch,
              new LogRotation(watch),
              new ConcurrentHashMap<>(),
              new KeyedLock<>(),
              parts.clock(),
              parts.faults());
      var opened = new WslRuntime(context, parts.store().images());
      new WslRecovery(context).recover();
      opened.sweepLayers();
      return opened;
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot run containers in the WSL distribution '%s': %s"
              .formatted(parts.distribution().name(), e.getMessage()),
          e);
    }
  }

  /** Layers of images that are gone are dropped, unless somebody may still need them. */
  private void sweepLayers() throws IOException, InterruptedException {
    var needed = new HashSet<String>();
    var present = new HashSet<Digest>();
    boolean known = true;
    for (ImageInfo info : images.list()) {
      Optional<ImageDetails> image = info.references().stream().findFirst().flatMap(images::find);
      known &= image.isPresent();
      present.add(info.digest());
      image.ifPresent(details -> needed.addAll(layers(details)));
    }
    for (ContainerState state : context.states().values()) {
      known &= present.contains(state.record().image());
    }
    if (known) {
      context.layers().sweep(needed);
    }
  }

  private List<String> layers(ImageDetails image) {
    return image.layers().stream()
        .flatMap(layer -> layer.diffId().stream())
        .map(context.places()::layer)
        .toList();
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Capabilities capabilities() {
    return capabilities;
  }

  @Override
  public Images images() {
    return images;
  }

  @Override
  public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
    try (var _ = images.hold(spec.image())) {
      ImageDetails image = ImageCheck.find(NAME, capabilities, images, spec);
      return new WslContainer(context, new WslCreator(context).create(id, spec, image));
    }
  }

  /** Which images the containers need; for whoever removes images. */
  public List<InUse.Use> uses() {
    return context.states().values().stream()
        .map(
            state ->
                new InUse.Use(
                    state.record().id().toString(), Optional.of(state.record().image()), List.of()))
        .toList();
  }

  @Override
  public Optional<Container> find(ContainerId id) {
    return Optional.ofNullable(context.states().get(id.runtimeName()))
        .filter(WslRuntime::made)
        .map(state -> new WslContainer(context, state));
  }

  @Override
  public List<Container> list() {
    return context.states().values().stream()
        .filter(WslRuntime::made)
        .<Container>map(state -> new WslContainer(context, state))
        .toList();
  }

  private static boolean made(ContainerState state) {
    return state.record().phase() != Phase.CREATING;
  }

  /** Leaves the containers running and stops watching them. */
  @Override
  public void close() {
    try {
      context.logWatch().close();
    } catch (IOException e) {
      throw new AgentException.Internal("cannot stop watching logs", e);
    }
  }
}
