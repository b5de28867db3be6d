package dev.zlayer.bench.engine;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.image.ImageStore;
import dev.zlayer.image.ImagesConfig;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Container;
import dev.zlayer.port.PullRequest;
import dev.zlayer.runtime.cni.NetworkConfig;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.oci.Faults;
import dev.zlayer.runtime.oci.OciRuntime;
import dev.zlayer.runtime.oci.OciSettings;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;

/** All of our own parts, put together on one directory. */
public final class ZlayerNode implements AutoCloseable {
  private final Path directory;
  private final ImageStore store;
  private final Networks networks;
  private final OciRuntime runtime;

  public ZlayerNode(Path directory) throws InterruptedException {
    this.directory = directory;
    DataDir dirs = dirs(directory);
    this.store = store(dirs);
    this.networks = Networks.open(NetworkConfig.of(dirs.networkRun(), dirs.networks()));
    this.runtime =
        OciRuntime.open(
            new OciRuntime.Parts(
                dirs,
                store,
                store.snapshots(),
                networks,
                OciSettings.DEFAULT,
                InstantSource.system(),
                Faults.NONE));
  }

  static DataDir dirs(Path directory) {
    return new DataDir(directory, Tool.fleeting(directory));
  }

  /** A store for images alone. */
  public static ImageStore store(DataDir dirs) {
    return ImageStore.open(
        dirs,
        ImagesConfig.of(Platform.of("linux", Machine.architecture()), InstantSource.system()));
  }

  public void pull(ImageRef image) throws InterruptedException {
    store.images().pull(PullRequest.of(image, PullPolicy.IF_NOT_PRESENT), event -> {});
  }

  /** The layers of an image as unpacked, top first. */
  public List<Path> layers(ImageRef image) {
    return store.images().layers(image).reversed();
  }

  OciRuntime runtime() {
    return runtime;
  }

  Path directory() {
    return directory;
  }

  /** The OCI runtime that was chosen. */
  public Path ociRuntime() {
    return runtime.tools().runtime().path();
  }

  @Override
  public void close() throws InterruptedException {
    for (Container container : runtime.list()) {
      container.remove(true);
    }
    runtime.close();
    networks.close();
    store.close();
  }
}
