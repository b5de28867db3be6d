package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.image.LocalImages;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.runtime.lifecycle.LifecycleRecord;
import dev.zlayer.runtime.lifecycle.MemoryLogs;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.wasm.wasi.Guest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Makes everything a module needs; what fails half way is taken away again. */
record WasmCreator(WasmContext context, LocalImages images) {
  WasmContainerState create(ContainerId id, ContainerSpec spec, ImageDetails image)
      throws InterruptedException {
    Invocation invocation = Invocation.of(spec.process(), image.run(), spec.image());
    try (var _ = context.locks().lock(id.runtimeName())) {
      ContainerDir directory = context.dirs().wasmContainer(id.runtimeName());
      if (Files.exists(directory.recordFile())) {
        throw new AgentException.Conflict("container %s exists already".formatted(id));
      }
      Digest module = module(id, spec, image.info().digest());
      var record =
          new WasmRecord(
              LifecycleRecord.VERSION,
              id,
              spec,
              context.clock().instant(),
              image.info().digest(),
              module,
              invocation.arguments(),
              invocation.environment(),
              Phase.CREATING,
              0,
              Optional.empty(),
              Optional.empty());
      var state = new WasmContainerState(directory, record);
      try {
        make(state);
      } catch (IOException | RuntimeException e) {
        throw undo(state, e);
      }
      context.states().put(state.name(), state);
      return state;
    }
  }

  /** The module, kept and, unless told otherwise, compiled. */
  private Digest module(ContainerId id, ContainerSpec spec, Digest image)
      throws InterruptedException {
    try {
      Digest module = context.known().get(image);
      if (module == null) {
        module = context.programs().keep(() -> images.module(spec.image()));
        context.known().put(image, module);
      }
      if (!spec.labels().getOrDefault(WasmRuntime.PRECOMPILE, "").equals("false")) {
        context.programs().program(module).release();
      }
      return module;
    } catch (IOException e) {
      throw new AgentException.CreateFailed(id.toString(), String.valueOf(e.getMessage()), e);
    }
  }

  private void make(WasmContainerState state) throws IOException {
    Files.createDirectories(state.directory().path());
    state.save(record -> record);
    for (Guest.Directory directory : directories(context, state)) {
      Files.createDirectories(directory.host());
    }
    MemoryLogs.mount(state);
    state.logs().prepare();
    state.saveDurably(record -> record.withPhase(Phase.CREATED));
  }

  /** Where the mounts of a container are on the host. */
  static List<Guest.Directory> directories(WasmContext context, WasmContainerState state) {
    var directories = new ArrayList<Guest.Directory>();
    for (Mount mount : state.record().spec().fileSystem().mounts()) {
      switch (mount) {
        case Mount.Bind(var source, var target, var readOnly, _) ->
            directories.add(new Guest.Directory(source, target, readOnly));
        case Mount.Named(var name, var target, var readOnly, _) ->
            directories.add(
                new Guest.Directory(context.dirs().volumes().resolve(name), target, readOnly));
        case Mount.Anonymous(var target) -> {
          Path volumes = context.dirs().anonymousVolumes(state.name());
          directories.add(
              new Guest.Directory(volumes.resolve("" + directories.size()), target, false));
        }
        case Mount.Supplied _, Mount.Tmpfs _ ->
            throw new AgentException.Internal("a mount was not refused");
      }
    }
    return directories;
  }

  private AgentException undo(WasmContainerState state, Exception failure) {
    try {
      context.dismantle(state);
    } catch (IOException e) {
      failure.addSuppressed(e); // tried again at the next start
    }
    return failure instanceof AgentException ours
        ? ours
        : new AgentException.CreateFailed(
            state.record().id().toString(), String.valueOf(failure.getMessage()), failure);
  }
}
