package dev.zlayer.runtime.oci;

import dev.zlayer.image.snapshot.Snapshot;
import dev.zlayer.image.snapshot.Snapshots;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.ImageDetails;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The root file systems of containers, by their names. */
final class Roots {
  private final Snapshots snapshots;

  Roots(Snapshots snapshots) {
    this.snapshots = snapshots;
  }

  /** Makes and mounts one; what a failed attempt left under this name is replaced. */
  Path create(String name, ImageDetails image) throws IOException {
    remove(name);
    List<Digest> layers =
        image.layers().stream().flatMap(layer -> layer.diffId().stream()).toList();
    Snapshot snapshot = snapshots.create(name, layers);
    snapshot.mount();
    return snapshot.root();
  }

  /** Mounts it again if it is not, for example because the machine was restarted. */
  Path mount(String name) throws IOException {
    Snapshot snapshot =
        snapshots
            .find(name)
            .orElseThrow(() -> new NoSuchFileException("the root file system of " + name));
    snapshot.mount();
    return snapshot.root();
  }

  Optional<Snapshot> find(String name) {
    try {
      return snapshots.find(name);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the root file system of " + name, e);
    }
  }

  /** Unmounts and deletes it; absent is fine. */
  void remove(String name) throws IOException {
    Optional<Snapshot> snapshot = snapshots.find(name);
    if (snapshot.isPresent()) {
      snapshot.get().remove();
    }
  }
}
