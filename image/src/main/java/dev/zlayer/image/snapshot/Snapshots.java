package dev.zlayer.image.snapshot;

import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The snapshots of one directory, by key. Safe for many threads of one process. */
public interface Snapshots {
  /**
   * Opens the directory, removes what a process that died left half made, and finds out whether
   * overlayfs works here; if not, every new snapshot is a copy.
   */
  static Snapshots open(Path directory, LayerStore layers) throws IOException {
    return LocalSnapshots.open(directory, layers, OverlayRoots.obstacle(directory));
  }

  /** Like {@link #open}, but copies whatever the kernel can do. */
  static Snapshots copying(Path directory, LayerStore layers) throws IOException {
    return LocalSnapshots.open(directory, layers, Optional.of("copies were asked for"));
  }

  /**
   * Makes a snapshot, not mounted yet.
   *
   * @param key letters, digits and {@code . _ -}, at most 128
   * @param diffIdsBottomFirst unpacked layers; they must stay as long as the snapshot
   * @throws java.nio.file.FileAlreadyExistsException the key is taken
   * @throws java.nio.file.NoSuchFileException a layer is not unpacked
   */
  Snapshot create(String key, List<Digest> diffIdsBottomFirst) throws IOException;

  Optional<Snapshot> find(String key) throws IOException;

  /** Why new snapshots are copies and not mounts of overlayfs; empty when they are mounts. */
  Optional<String> copyReason();

  /** All of them, by key. */
  List<Snapshot> list() throws IOException;
}
