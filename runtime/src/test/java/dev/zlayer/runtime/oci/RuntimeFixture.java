package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.image.ImageStore;
import dev.zlayer.image.ImagesConfig;
import dev.zlayer.image.snapshot.Snapshots;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Container;
import dev.zlayer.port.LogLines;
import dev.zlayer.runtime.cni.NetworkConfig;
import dev.zlayer.runtime.cni.NetworkLeaks;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.cni.Subnet;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A whole Linux runtime on a directory of its own, with a busybox image in its store. */
final class RuntimeFixture implements AutoCloseable {
  static final ImageRef BUSYBOX = ImageRef.parse("localhost/busybox:test");
  static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final AtomicInteger COUNTER = new AtomicInteger();

  final DataDir dirs;
  final ImageStore store;
  final Networks networks;
  final OciRuntime runtime;

  private RuntimeFixture(DataDir dirs, ImageStore store, Networks networks, OciRuntime runtime) {
    this.dirs = dirs;
    this.store = store;
    this.networks = networks;
    this.runtime = runtime;
  }

  static RuntimeFixture open(Path directory) throws Exception {
    return open(directory, OciSettings.DEFAULT, Faults.NONE);
  }

  static RuntimeFixture open(Path directory, OciSettings settings, Faults faults) throws Exception {
    return open(directory, settings, faults, networks(directory));
  }

  static RuntimeFixture open(
      Path directory, OciSettings settings, Faults faults, NetworkConfig config) throws Exception {
    DataDir dirs = DataDir.under(directory);
    ImageStore store =
        ImageStore.open(
            dirs,
            ImagesConfig.of(Platform.of("linux", Machine.architecture()), InstantSource.system()));
    Networks networks = Networks.open(config);
    Snapshots snapshots = Snapshots.open(dirs.snapshots(), store.layers());
    OciRuntime runtime =
        OciRuntime.open(
            new OciRuntime.Parts(
                dirs, store, snapshots, networks, settings, InstantSource.system(), faults));
    var fixture = new RuntimeFixture(dirs, store, networks, runtime);
    if (System.getProperty("zlayer.view", "").equals("crun")) {
      assertThat(runtime.tools().runtime().name()).isEqualTo("crun");
    }
    if (store.images().find(BUSYBOX).isEmpty()) {
      fixture.load(ImageMaker.busybox().cmd("sh").make(), BUSYBOX);
    }
    return fixture;
  }

  /** The same for every agent on one directory. */
  static NetworkConfig networks(Path directory) throws IOException {
    Path kept = directory.resolve("networks.txt");
    NetworkConfig config = NetworkLeaks.config(directory).withPoolSize(0);
    if (Files.exists(kept)) {
      List<String> lines = Files.readAllLines(kept);
      return config.withPrefix(lines.getFirst(), Subnet.parse(lines.getLast()));
    }
    Files.createDirectories(directory);
    Files.writeString(kept, config.prefix() + "\n" + config.subnets() + "\n");
    return config;
  }

  void load(MadeImage image, ImageRef name) throws InterruptedException {
    store.images().load(new ByteArrayInputStream(image.ociArchive(name.canonical())));
  }

  static ContainerId id() {
    return ContainerId.of("test", "c" + COUNTER.incrementAndGet(), 1);
  }

  /** Busybox with that command, without a network. */
  static ContainerSpec spec(String... command) {
    return ContainerSpec.of(BUSYBOX)
        .withNetwork(NetworkSpec.NONE)
        .withProcess(ProcessSpec.DEFAULT.withArgs(command));
  }

  /** A shell script. */
  static ContainerSpec script(String script) {
    return spec("sh", "-c", script);
  }

  /** What was printed by a container that ran to its end, both streams; it is removed. */
  String output(ContainerSpec spec) throws InterruptedException {
    Container container = runtime.create(id(), spec);
    try {
      container.start();
      container.await(WaitCondition.NOT_RUNNING, Deadline.after(TIMEOUT));
      return text(container);
    } finally {
      container.remove(true);
    }
  }

  Outcome run(ContainerSpec spec) throws InterruptedException {
    Container container = runtime.create(id(), spec);
    try {
      container.start();
      return container.await(WaitCondition.NOT_RUNNING, Deadline.after(TIMEOUT));
    } finally {
      container.remove(true);
    }
  }

  static String text(Container container) throws InterruptedException {
    try (var reader = container.logs(LogQuery.ALL)) {
      return String.join("\n", LogLines.read(reader));
    }
  }

  /** Ends the agent; containers go on. */
  @Override
  public void close() throws Exception {
    runtime.close();
    networks.close();
    store.close();
  }

  /** Removes what is left of a failed test, and closes. */
  void tearDown() throws Exception {
    for (Container container : runtime.list()) {
      container.remove(true);
    }
    close();
    new NetworkLeaks(networks(dirs.data())).destroy();
  }
}
