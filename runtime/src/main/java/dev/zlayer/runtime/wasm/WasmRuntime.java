package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.image.ImageStore;
import dev.zlayer.image.LocalImages;
import dev.zlayer.image.store.InUse;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.Images;
import dev.zlayer.runtime.lifecycle.ImageCheck;
import dev.zlayer.runtime.lifecycle.MemoryLogs;
import dev.zlayer.runtime.wasm.module.MemoryBudget;
import dev.zlayer.runtime.wasm.module.ModuleStore;
import dev.zlayer.runtime.wasm.module.Programs;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs WebAssembly modules in this process, as {@link ContainerRuntime} tells, with one difference:
 * a module ends with the agent. An agent that starts anew finds it ended in an unknown way, and
 * whoever wants it to run starts it again.
 */
public final class WasmRuntime implements ContainerRuntime, InUse, AutoCloseable {
  public static final String NAME = "wasm";

  /** A label with the value {@code false} here has a module compiled when it is started. */
  public static final String PRECOMPILE = "dev.zlayer.wasm/precompile";

  private static final System.Logger LOG = LazyLogger.of(WasmRuntime.class);
  private static final Capabilities CAPABILITIES =
      new Capabilities(
          Set.of(
              Platform.of("wasi", "wasm"),
              Platform.of("wasip1", "wasm"),
              Platform.of("wasi", "wasm32"),
              Platform.of("wasip1", "wasm32")),
          Set.of(Capabilities.ArtifactKind.WASM_MODULE),
          Set.of(Attachable.class));

  private final WasmContext context;
  private final LocalImages images;

  private WasmRuntime(WasmContext context, LocalImages images) {
    this.context = context;
    this.images = images;
  }

  /**
   * Finds the containers of earlier agents and finishes or undoes what those were doing. Only one
   * agent may be open on a directory.
   */
  public static WasmRuntime open(
      DataDir dirs, ImageStore store, WasmSettings settings, InstantSource clock) {
    try {
      Files.createDirectories(dirs.wasmContainers());
      var budget = new MemoryBudget(settings.allMemoryBytes());
      var programs =
          new Programs(
              ModuleStore.open(dirs.wasmModules(), ".wasm"),
              ModuleStore.open(dirs.wasmCompiled(), ".jar"),
              settings.warmPrograms(),
              budget,
              clock);
      DirectoryWatchLoop watch =
          DirectoryWatchLoop.open(
              "wasm-log-follow",
              dirs.wasmContainers(),
              List.of(StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_MODIFY));
      var context = new WasmContext(dirs, settings, programs, budget, watch, clock);
      var runtime = new WasmRuntime(context, store.images());
      runtime.recover();
      programs.trim(
          context.states().values().stream()
              .map(state -> state.record().module())
              .collect(Collectors.toSet()),
          settings.cacheBytes());
      return runtime;
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot open %s: %s".formatted(dirs.wasmContainers(), e.getMessage()), e);
    }
  }

  private void recover() throws IOException {
    List<Path> directories;
    try (Stream<Path> found = Files.list(context.dirs().wasmContainers())) {
      directories = found.filter(Files::isDirectory).toList();
    }
    for (Path path : directories) {
      ContainerDir directory = ContainerDir.whole(path);
      try {
        Optional<WasmRecord> record = WasmContainerState.read(directory);
        if (record.isPresent()) {
          settle(new WasmContainerState(directory, record.get()));
        } else {
          RootedDirectory.removeTree(path); // not begun, or all but gone
        }
      } catch (IOException | AgentException e) {
        // nothing is known about it, so nothing of it is touched
        LOG.log(System.Logger.Level.ERROR, "left alone: " + path, e);
      }
    }
  }

  private void settle(WasmContainerState state) throws IOException {
    switch (state.record().phase()) {
      case CREATING, REMOVING -> context.dismantle(state);
      case CREATED, ENDED -> {
        MemoryLogs.mount(state);
        context.states().put(state.name(), state);
      }
      case STARTING, RUNNING, PAUSED -> {
        MemoryLogs.mount(state);
        state.ended(
            new Outcome(
                new ExitStatus.Unknown("the agent in which it ran has ended"),
                state.record().startedAt(),
                Optional.empty()));
        context.states().put(state.name(), state);
      }
    }
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Capabilities capabilities() {
    return CAPABILITIES;
  }

  @Override
  public Images images() {
    return images;
  }

  @Override
  public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
    ImageDetails image = ImageCheck.find(NAME, CAPABILITIES, images, spec);
    SpecCheck.check(spec);
    return new WasmContainer(context, new WasmCreator(context, images).create(id, spec, image));
  }

  /** Which images the containers need; for whoever removes images. */
  @Override
  public List<InUse.Use> uses() {
    return context.states().values().stream()
        .map(
            state ->
                new InUse.Use(
                    state.record().id().toString(),
                    Optional.<Digest>of(state.record().image()),
                    List.of()))
        .toList();
  }

  @Override
  public Optional<Container> find(ContainerId id) {
    return Optional.ofNullable(context.states().get(id.runtimeName()))
        .map(state -> new WasmContainer(context, state));
  }

  @Override
  public List<Container> list() {
    return context.states().values().stream()
        .<Container>map(state -> new WasmContainer(context, state))
        .toList();
  }

  /** Ends what runs: there will be nobody to run it. */
  @Override
  public void close() {
    List<ModuleLoop> running =
        context.states().values().stream().flatMap(state -> state.loop().stream()).toList();
    running.forEach(ModuleLoop::agentEnds);
    try {
      Deadline deadline = Deadline.after(context.settings().endLimit());
      for (ModuleLoop loop : running) {
        if (!loop.awaitEnd(deadline)) {
          LOG.log(System.Logger.Level.WARNING, "a module did not end in time");
        }
      }
      context.logWatch().close();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (IOException e) {
      throw new AgentException.Internal("cannot stop watching logs", e);
    }
  }
}
