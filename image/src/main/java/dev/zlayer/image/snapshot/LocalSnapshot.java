package dev.zlayer.image.snapshot;

import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.IdMapping;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.linux.OverlayMount;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.oci.Digest;
import dev.zlayer.task.BlockingPool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;

/** A snapshot in a directory of its own. */
final class LocalSnapshot implements Snapshot {
  static final String FACTS = "snapshot.json";
  static final String ROOT = "root";
  static final String UPPER = "upper";

  private final LocalSnapshots owner;
  private final String key;
  private final Path home;
  private final SnapshotFacts facts;
  private final OverlayRoots overlays;

  LocalSnapshot(
      LocalSnapshots owner, String key, Path home, SnapshotFacts facts, OverlayRoots overlays) {
    this.owner = owner;
    this.key = key;
    this.home = home;
    this.facts = facts;
    this.overlays = overlays;
  }

  @Override
  public String key() {
    return key;
  }

  @Override
  public Path root() {
    return home.resolve(ROOT);
  }

  @Override
  public List<Digest> layers() {
    return facts.layers();
  }

  @Override
  public Path upper() {
    return facts.overlay() ? home.resolve(UPPER) : root();
  }

  @Override
  public void mount(Optional<IdMapping> mapping) throws IOException {
    if (!Files.isDirectory(home)) {
      throw new NoSuchFileException("snapshot " + key + " was removed");
    }
    if (facts.overlay() && !Mounts.mounted(root())) {
      BlockingPool.FILES.complete(
          () -> {
            overlays.mount(home, facts.layers(), mapping);
            return true;
          });
    }
  }

  @Override
  public void unmount() throws IOException {
    // somebody may have mounted over it: every one of them has to go
    while (Mounts.mounted(root())) {
      Mounts.unmount(root());
    }
  }

  @Override
  public void remove() throws IOException {
    while (Mounts.mounted(root())) {
      try {
        Mounts.unmount(root());
      } catch (ErrnoException e) {
        if (e.errno() != ErrnoException.EBUSY) {
          throw e;
        }
        // whoever still looks at it may go on, but nobody finds it any more
        Mounts.detach(root());
      }
    }
    OverlayMount.detachLayers(home);
    Path grave = owner.grave(key);
    try {
      Files.move(home, grave, StandardCopyOption.ATOMIC_MOVE);
    } catch (NoSuchFileException _) {
      return;
    }
    try {
      RootedDirectory.removeLargeTree(grave);
    } catch (IOException e) {
      throw new IOException(
          "snapshot %s was removed, but its files in %s were not: %s"
              .formatted(key, grave, e.getMessage()),
          e);
    }
  }

  @Override
  public SnapshotUsage usage() throws IOException {
    return UsageWalk.of(upper());
  }
}
