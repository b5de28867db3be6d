package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.image.LocalImages;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.runtime.life.LifeRecord;
import dev.zlayer.runtime.life.Phase;
import dev.zlayer.runtime.wasm.wasi.Guest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Makes everything a module needs; what fails half way is taken away again. */
record WasmCreating(WasmShop shop, LocalImages images) {
  WasmCell create(ContainerId id, ContainerSpec spec, ImageDetails image)
      throws InterruptedException {
    Invocation invocation = Invocation.of(spec.process(), image.run(), spec.image());
    try (var _ = shop.locks().lock(id.runtimeName())) {
      ContainerDir directory = shop.dirs().wasmContainer(id.runtimeName());
      if (Files.exists(directory.recordFile())) {
        throw new AgentException.Conflict("container %s exists already".formatted(id));
      }
      Digest module = module(id, spec, image.info().digest());
      var record =
          new WasmRecord(
              LifeRecord.VERSION,
              id,
              spec,
              shop.clock().instant(),
              image.info().digest(),
              module,
              invocation.arguments(),
              invocation.environment(),
              Phase.CREATING,
              0,
              Optional.empty(),
              Optional.empty());
      var cell = new WasmCell(directory, record);
      try {
        make(cell);
      } catch (IOException | RuntimeException e) {
        throw undo(cell, e);
      }
      shop.cells().put(cell.name(), cell);
      return cell;
    }
  }

  /** The module, kept and, unless told otherwise, compiled. */
  private Digest module(ContainerId id, ContainerSpec spec, Digest image)
      throws InterruptedException {
    try {
      Digest module = shop.known().get(image);
      if (module == null) {
        module = shop.programs().keep(images.module(spec.image()));
        shop.known().put(image, module);
      }
      if (!spec.labels().getOrDefault(WasmRuntime.PRECOMPILE, "").equals("false")) {
        shop.programs().program(module);
      }
      return module;
    } catch (IOException e) {
      throw new AgentException.CreateFailed(id.toString(), String.valueOf(e.getMessage()), e);
    }
  }

  private void make(WasmCell cell) throws IOException {
    Files.createDirectories(cell.directory().path());
    cell.save(record -> record);
    for (Guest.Directory directory : directories(shop, cell)) {
      Files.createDirectories(directory.host());
    }
    cell.logs().prepare();
    cell.saveDurably(record -> record.withPhase(Phase.CREATED));
  }

  /** Where the mounts of a container are on the host. */
  static List<Guest.Directory> directories(WasmShop shop, WasmCell cell) {
    var directories = new ArrayList<Guest.Directory>();
    for (Mount mount : cell.record().spec().fileSystem().mounts()) {
      switch (mount) {
        case Mount.Bind(var source, var target, var readOnly) ->
            directories.add(new Guest.Directory(source, target, readOnly));
        case Mount.Named(var name, var target, var readOnly) ->
            directories.add(
                new Guest.Directory(shop.dirs().volumes().resolve(name), target, readOnly));
        case Mount.Anonymous(var target) -> {
          Path volumes = shop.dirs().anonymousVolumes(cell.name());
          directories.add(
              new Guest.Directory(volumes.resolve("" + directories.size()), target, false));
        }
        case Mount.Supplied _, Mount.Tmpfs _ ->
            throw new AgentException.Internal("a mount was not refused");
      }
    }
    return directories;
  }

  private AgentException undo(WasmCell cell, Exception failure) {
    try {
      shop.dismantle(cell);
    } catch (IOException e) {
      failure.addSuppressed(e); // tried again at the next start
    }
    return failure instanceof AgentException ours
        ? ours
        : new AgentException.CreateFailed(
            cell.record().id().toString(), String.valueOf(failure.getMessage()), failure);
  }
}
