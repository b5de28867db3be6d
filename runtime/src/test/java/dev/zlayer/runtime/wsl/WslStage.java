package dev.zlayer.runtime.wsl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.NetworkSpec;
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
import dev.zlayer.runtime.oci.Faults;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.wsl.StandInWsl;
import java.io.ByteArrayInputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;

/** A whole WSL runtime over a stand-in for wsl.exe, with a busybox image in its store. */
final class WslStage implements AutoCloseable {
  static final ImageRef BUSYBOX = ImageRef.parse("localhost/busybox:test");
  static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final AtomicInteger COUNTER = new AtomicInteger();

  final DataDir dirs;
  final ImageStore store;
  final WslRuntime runtime;

  private WslStage(DataDir dirs, ImageStore store, WslRuntime runtime) {
    this.dirs = dirs;
    this.store = store;
    this.runtime = runtime;
  }

  static WslDistribution distribution(StandInWsl wsl) {
    return new WslDistribution(wsl.program().toString(), "Debian", WslDistribution.Quoting.NONE);
  }

  static WslStage open(StandInWsl wsl) throws Exception {
    return open(wsl.program(), wsl.windows(), Faults.NONE);
  }

  static WslStage open(Path program, Path windows, Faults faults) throws Exception {
    // as people name their directories
    DataDir dirs = DataDir.under(windows.resolve("Program Files").resolve("it's \"zlayer\""));
    ImageStore store =
        ImageStore.open(
            dirs,
            ImagesConfig.of(Platform.of("linux", Machine.architecture()), InstantSource.system()));
    if (store.images().find(BUSYBOX).isEmpty()) {
      load(store, ImageMaker.busybox().cmd("sh").make(), BUSYBOX);
    }
    var distribution =
        new WslDistribution(program.toString(), "Debian", WslDistribution.Quoting.NONE);
    WslRuntime runtime =
        WslRuntime.open(
            new WslRuntime.Parts(
                dirs, store, distribution, WslSettings.DEFAULT, InstantSource.system(), faults));
    return new WslStage(dirs, store, runtime);
  }

  static void load(ImageStore store, MadeImage image, ImageRef name) throws InterruptedException {
    store.images().load(new ByteArrayInputStream(image.ociArchive(name.canonical())));
  }

  static ContainerId id() {
    return ContainerId.of("test", "c" + COUNTER.incrementAndGet(), 1);
  }

  static ContainerSpec script(String script) {
    return ContainerSpec.of(BUSYBOX)
        .withNetwork(NetworkSpec.NONE)
        .withProcess(ProcessSpec.DEFAULT.withEntrypoint("/bin/sh", "-c", script));
  }

  /** What was printed by a container that ran to its end; it is removed. */
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

  static String text(Container container) throws InterruptedException {
    try (var reader = container.logs(LogQuery.ALL)) {
      return String.join("\n", LogLines.read(reader));
    }
  }

  /** No files, no mounts, no processes of containers. */
  static void assertNothingLeft(StandInWsl wsl) {
    Awaitility.await()
        .atMost(TIMEOUT)
        .untilAsserted(
            () ->
                assertThat(
                        wsl.inside(
                            "ls /var/lib/zlayer/*/containers 2>/dev/null || true;grep /containers/"
                                + " /proc/mounts || true;for c in /proc/[0-9]*/cmdline; do tr '\\0'"
                                + " ' ' <$c 2>/dev/null | grep -e '[-]-bundle /var/lib/zlayer/' ||"
                                + " true; done"))
                    .isBlank());
  }

  /** Ends the agent; containers go on. */
  @Override
  public void close() {
    runtime.close();
    store.close();
  }

  /** Removes what is left of a failed test, and closes. */
  void tearDown() throws Exception {
    for (Container container : runtime.list()) {
      container.remove(true);
    }
    close();
  }
}
