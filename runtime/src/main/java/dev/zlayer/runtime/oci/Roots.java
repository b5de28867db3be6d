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
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The root file systems of containers, by their names. Nobody else makes or removes them, so each
 * is read from the disk once: containers are looked at far more often than they are made.
 */
final class Roots {
  private final Snapshots snapshots;
  private final ConcurrentHashMap<String, Snapshot> known = new ConcurrentHashMap<>();

  Roots(Snapshots snapshots) {
    this.snapshots = snapshots;
  }

  /** Makes and mounts one; what a failed attempt left under this name is replaced. */
  Path create(String name, ImageDetails image) throws IOException {
    remove(name);
    List<Digest> layers =
        image.layers().stream().flatMap(layer -> layer.diffId().stream()).toList();
    Snapshot snapshot = snapshots.create(name, layers);
    known.put(name, snapshot);
    snapshot.mount();
    return snapshot.root();
  }

  /** Mounts it again if it is not, for example because the machine was restarted. */
  Path mount(String name) throws IOException {
    Snapshot snapshot = get(name);
    snapshot.mount();
    return snapshot.root();
  }

  Snapshot get(String name) throws NoSuchFileException {
    return find(name).orElseThrow(() -> new NoSuchFileException("the root file system of " + name));
  }

  Optional<Snapshot> find(String name) {
    Snapshot found = known.get(name);
    return found == null
        ? Optional.ofNullable(known.computeIfAbsent(name, this::read))
        : Optional.of(found);
  }

  private @Nullable Snapshot read(String name) {
    try {
      return snapshots.find(name).orElse(null);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the root file system of " + name, e);
    }
  }

  /** Unmounts and deletes it; absent is fine. */
  void remove(String name) throws IOException {
    Optional<Snapshot> snapshot = find(name);
    if (snapshot.isPresent()) {
      snapshot.get().remove();
      known.remove(name, snapshot.get());
    }
  }
}
