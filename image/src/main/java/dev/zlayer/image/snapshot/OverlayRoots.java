package dev.zlayer.image.snapshot;

import dev.zlayer.host.linux.IdMapping;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.OverlayMount;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;

/** Root file systems that overlayfs stacks. */
final class OverlayRoots {
  private static final String WORK = "work";
  private static final String IMPLIED = "implied";

  private final LayerStore layers;

  OverlayRoots(LayerStore layers) {
    this.layers = layers;
  }

  /** Tries it, on the file system of that directory; the reason when it does not work there. */
  static Optional<String> obstacle(Path directory) throws IOException {
    Files.createDirectories(directory);
    Path trial = Files.createTempDirectory(directory, ".trial-");
    Path root = Files.createDirectory(trial.resolve(LocalSnapshot.ROOT));
    try {
      Path lower = Files.createDirectory(trial.resolve("lower"));
      Path upper = Files.createDirectory(trial.resolve(LocalSnapshot.UPPER));
      Path work = Files.createDirectory(trial.resolve(WORK));
      OverlayMount.mount(List.of(lower), upper, work, root);
      return Optional.empty();
    } catch (IOException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    } finally {
      if (Mounts.mounted(root)) {
        Mounts.detach(root);
      }
      RootedDirectory.removeTree(trial);
    }
  }

  /** Makes the directories of a snapshot in {@code home}. */
  void prepare(Path home, List<Digest> diffIdsBottomFirst) throws IOException {
    List<Digest> stack = stack(diffIdsBottomFirst);
    if (stack.size() >= OverlayMount.MAX_LAYERS) {
      throw new IOException(
          "%d layers are more than overlayfs can stack (%d)"
              .formatted(stack.size(), OverlayMount.MAX_LAYERS - 1));
    }
    Files.createDirectory(home.resolve(WORK));
    Files.createDirectory(home.resolve(LocalSnapshot.ROOT));
    Path upper = Files.createDirectory(home.resolve(LocalSnapshot.UPPER));
    Files.setPosixFilePermissions(upper, PosixFilePermissions.fromString("rwxr-xr-x"));
    try (var described = new DescribedDirectories(layers, stack)) {
      described.restore(home.resolve(IMPLIED));
      // overlayfs shows the upper directory's own metadata as that of the root
      try (var to = RootedDirectory.open(upper)) {
        described.copyRoot(to.root());
      }
    }
  }

  void mount(Path home, List<Digest> diffIdsBottomFirst, Optional<IdMapping> mapping)
      throws IOException {
    List<Path> lowers = new ArrayList<>();
    Path implied = home.resolve(IMPLIED);
    List<Digest> stack = stack(diffIdsBottomFirst);
    if (Files.isDirectory(implied)) {
      lowers.add(implied);
    }
    stack.forEach(layer -> lowers.add(layers.path(layer)));
    OverlayMount.mount(
        lowers,
        home.resolve(LocalSnapshot.UPPER),
        home.resolve(WORK),
        home.resolve(LocalSnapshot.ROOT),
        mapping);
  }

  /**
   * What to stack, top first. A layer that comes twice counts where it is on top: everything in it
   * is above its lower self. Below a layer that is opaque as a whole nothing is seen, which
   * overlayfs itself does not look for at the root.
   */
  private List<Digest> stack(List<Digest> bottomFirst) throws IOException {
    var stack = new LinkedHashSet<Digest>();
    for (Digest layer : bottomFirst.reversed()) {
      if (stack.add(layer) && opaque(layer)) {
        break;
      }
    }
    return List.copyOf(stack);
  }

  private boolean opaque(Digest layer) throws IOException {
    try (var root = RootedDirectory.open(layers.path(layer))) {
      OpenDirectory directory = root.root();
      return Metadata.opaque(directory);
    }
  }
}
