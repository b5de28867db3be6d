package dev.zlayer.image.snapshot;

import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.oci.Digest;
import dev.zlayer.task.BlockingPool;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/** Root file systems that are copies of their layers, one over the other. */
final class CopiedRoots {
  private final LayerStore layers;

  CopiedRoots(LayerStore layers) {
    this.layers = layers;
  }

  void prepare(Path home, List<Digest> diffIdsBottomFirst) throws IOException {
    Path root = Files.createDirectory(home.resolve(LocalSnapshot.ROOT));
    Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwxr-xr-x"));
    try {
      BlockingPool.STREAMS.call(() -> copy(diffIdsBottomFirst, root));
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("copying layers was interrupted");
    }
  }

  private boolean copy(List<Digest> diffIdsBottomFirst, Path root)
      throws IOException, InterruptedException {
    try (var target = RootedDirectory.open(root)) {
      for (Digest layer : diffIdsBottomFirst) {
        try (var source = RootedDirectory.open(layers.path(layer))) {
          new LayerCopy(source, target, layers.implied(layer)).run();
        }
      }
      return true;
    }
  }
}
