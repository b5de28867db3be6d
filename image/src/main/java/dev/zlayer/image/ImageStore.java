package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.image.registry.Registry;
import dev.zlayer.image.snapshot.Snapshots;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.image.store.Fsck;
import dev.zlayer.image.store.ImageIndex;
import dev.zlayer.image.store.InUse;
import dev.zlayer.image.store.Leases;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/**
 * Everything about images below one data directory, put together.
 *
 * <pre>{@code
 * try (var lock = DirectoryLock.take(directory.lockFile());
 *     var store = ImageStore.open(directory, ImagesConfig.of(platform, InstantSource.system()))) {
 *   store.images().pull(PullRequest.of(ImageRef.parse("alpine"), PullPolicy.NEWER), event -> {});
 * }
 * }</pre>
 *
 * <p>The caller holds the lock of the data directory: one process at a time. Closing ends the
 * connections to registries; nothing has to be closed for the store to be sound.
 */
public final class ImageStore implements AutoCloseable {
  /** After that long the kernel has written what was unpacked, so that settling costs little. */
  private static final Duration WRITTEN_BY_ITSELF = Duration.ofMinutes(1);

  private final ImageLayout layout;
  private final Registry registry;
  private final Snapshots snapshots;
  private final LocalImages images;

  private ImageStore(
      ImageLayout layout, Registry registry, Snapshots snapshots, ImagesConfig config) {
    this.layout = layout;
    this.snapshots = snapshots;
    this.registry = registry;
    this.images = new LocalImages(layout, registry, config);
  }

  public static ImageStore open(DataDir directory, ImagesConfig config) {
    return open(directory, config, List::of);
  }

  /**
   * With somebody who knows more about containers than the snapshots do; layers they use are kept
   * whatever happens.
   */
  public static ImageStore open(DataDir directory, ImagesConfig config, InUse others) {
    try {
      DiskContentStore content = DiskContentStore.open(directory);
      ImageIndex index = ImageIndex.open(directory.imageIndex());
      LayerStore layers = LayerStore.open(directory.layers(), config.layerLimits());
      layers.sweep();
      layers.settle(config.clock().instant().minus(WRITTEN_BY_ITSELF));
      Snapshots snapshots = Snapshots.open(directory.snapshots(), layers);
      InUse inUse = others.and(new SnapshotUses(snapshots));
      var layout = new ImageLayout(content, index, layers, new Leases(), inUse);
      var registry =
          new Registry(
              config.registries(),
              config.proxies(),
              config.credentials(),
              config.timeouts(),
              config.clock());
      return new ImageStore(layout, registry, snapshots, config);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "the image store below %s cannot be opened: %s"
              .formatted(directory.images(), e.getMessage()),
          e);
    }
  }

  public LocalImages images() {
    return images;
  }

  public LayerStore layers() {
    return layout.layers();
  }

  /** Root file systems of containers, made of the layers. */
  public Snapshots snapshots() {
    return snapshots;
  }

  /** Looks at everything and changes nothing. */
  public Fsck.Report check() {
    return Failures.local(
        "check the image store", layout.content().directory(), layout.fsck()::check);
  }

  /** Makes the store sound; returns what was found before. */
  public Fsck.Report repair() throws InterruptedException {
    try {
      return layout.fsck().repair();
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "could not repair the image store: " + e.getMessage(), e);
    }
  }

  @Override
  public void close() {
    layout.index().flush();
    registry.close();
  }
}
