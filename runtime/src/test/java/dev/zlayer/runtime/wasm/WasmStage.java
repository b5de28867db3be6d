package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.image.ImageStore;
import dev.zlayer.image.ImagesConfig;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Container;
import dev.zlayer.port.LogLines;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.image.MadeImage;
import java.io.ByteArrayInputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A runtime for modules on a directory of its own. */
final class WasmStage implements AutoCloseable {
  static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final AtomicInteger COUNTER = new AtomicInteger();

  final DataDir dirs;
  final ImageStore store;
  final WasmRuntime runtime;

  private WasmStage(DataDir dirs, ImageStore store, WasmRuntime runtime) {
    this.dirs = dirs;
    this.store = store;
    this.runtime = runtime;
  }

  static WasmStage open(Path directory) {
    return open(directory, WasmSettings.standard());
  }

  static WasmStage open(Path directory, WasmSettings settings) {
    DataDir dirs = DataDir.under(directory);
    ImageStore store =
        ImageStore.open(
            dirs,
            ImagesConfig.of(Platform.of("linux", Machine.architecture()), InstantSource.system()));
    return new WasmStage(
        dirs, store, WasmRuntime.open(dirs, store, settings, InstantSource.system()));
  }

  /** Makes an image of a module, as from a local file. */
  ImageRef image(String name, byte[] module) throws InterruptedException {
    ImageRef reference = ImageRef.parse("localhost/" + name + ":test");
    store.images().importRoot(new ByteArrayInputStream(module), reference);
    return reference;
  }

  ImageRef load(String name, MadeImage image) throws InterruptedException {
    ImageRef reference = ImageRef.parse("localhost/" + name + ":test");
    store.images().load(new ByteArrayInputStream(image.ociArchive(reference.canonical())));
    return reference;
  }

  static ContainerSpec spec(ImageRef image, String... args) {
    return ContainerSpec.of(image)
        .withNetwork(NetworkSpec.NONE)
        .withProcess(ProcessSpec.DEFAULT.withArgs(args));
  }

  static ContainerId id() {
    return ContainerId.of("test", "m" + COUNTER.incrementAndGet(), 1);
  }

  Container create(ContainerSpec spec) throws InterruptedException {
    return runtime.create(id(), spec);
  }

  Container start(ContainerSpec spec) throws InterruptedException {
    Container container = create(spec);
    container.start();
    return container;
  }

  /** How it ended and what it printed; it is removed. */
  record Ended(Outcome outcome, List<String> lines) {}

  Ended run(ContainerSpec spec) throws InterruptedException {
    Container container = create(spec);
    try {
      container.start();
      Outcome outcome = ended(container);
      return new Ended(outcome, lines(container));
    } finally {
      container.remove(true);
    }
  }

  static Outcome ended(Container container) throws InterruptedException {
    return container.await(WaitCondition.NOT_RUNNING, Deadline.after(TIMEOUT));
  }

  static List<String> lines(Container container) throws InterruptedException {
    try (var reader = container.logs(LogQuery.ALL)) {
      return LogLines.read(reader);
    }
  }

  /** Waits for the first line: the module runs. */
  static String firstLine(Container container) throws InterruptedException {
    try (var reader = container.logs(LogQuery.ALL.following())) {
      return reader.next().map(LogRecord::text).orElse("");
    }
  }

  @Override
  public void close() {
    runtime.close();
    store.close();
  }
}
