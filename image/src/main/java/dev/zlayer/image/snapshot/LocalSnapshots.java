package dev.zlayer.image.snapshot;

import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.linux.OverlayMount;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.oci.Digest;
import dev.zlayer.task.BlockingPool;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;

/** Snapshots as directories: each grows under a name that is no key and is renamed when done. */
final class LocalSnapshots implements Snapshots {
  private static final Pattern KEY = Pattern.compile("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}");

  private final Path directory;
  private final LayerStore layers;
  private final Optional<String> copyReason;
  private final AtomicLong counter = new AtomicLong();

  private LocalSnapshots(Path directory, LayerStore layers, Optional<String> copyReason) {
    this.directory = directory;
    this.layers = layers;
    this.copyReason = copyReason;
  }

  static LocalSnapshots open(Path directory, LayerStore layers, Optional<String> copyReason)
      throws IOException {
    Files.createDirectories(directory);
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
    var snapshots = new LocalSnapshots(directory.toRealPath(), layers, copyReason);
    snapshots.sweep();
    return snapshots;
  }

  @Override
  public Snapshot create(String key, List<Digest> diffIdsBottomFirst) throws IOException {
    Path home = home(key);
    if (Files.exists(home)) {
      throw new FileAlreadyExistsException("snapshot " + key + " exists already");
    }
    for (Digest layer : diffIdsBottomFirst) {
      if (!layers.has(layer)) {
        throw new NoSuchFileException(
            "layer " + layer + " is missing: run 'zlayer image fsck --repair'");
      }
    }
    Path growing = directory.resolve(".new-" + key + "-" + counter.incrementAndGet());
    boolean overlay = copyReason.isEmpty();
    var facts = new SnapshotFacts(overlay, diffIdsBottomFirst);
    try {
      Files.createDirectory(growing);
      if (overlay) {
        BlockingPool.FILES.complete(
            () -> {
              new OverlayRoots(layers).prepare(growing, diffIdsBottomFirst);
              return true;
            });
      } else {
        new CopiedRoots(layers).prepare(growing, diffIdsBottomFirst);
      }
      facts.write(growing.resolve(LocalSnapshot.FACTS));
      Files.move(growing, home, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      RootedDirectory.removeTree(growing);
    }
    return snapshot(key, facts);
  }

  @Override
  public Optional<Snapshot> find(String key) throws IOException {
    return facts(home(key)).map(facts -> snapshot(key, facts));
  }

  /** What is mounted belongs to a container that runs, even if the file beside it is damaged. */
  private static Optional<SnapshotFacts> facts(Path home) throws IOException {
    Optional<SnapshotFacts> facts = SnapshotFacts.find(home.resolve(LocalSnapshot.FACTS));
    return facts.isEmpty() && Mounts.mounted(home.resolve(LocalSnapshot.ROOT))
        ? Optional.of(SnapshotFacts.unknown())
        : facts;
  }

  @Override
  public List<Snapshot> list() throws IOException {
    List<Snapshot> found = new ArrayList<>();
    try (var names = Files.newDirectoryStream(directory)) {
      for (Path path : names) {
        String key = path.getFileName().toString();
        if (KEY.matcher(key).matches()) {
          find(key).ifPresent(found::add);
        }
      }
    }
    found.sort(Comparator.comparing(Snapshot::key));
    return found;
  }

  @Override
  public Optional<String> copyReason() {
    return copyReason;
  }

  /** Where the remains of a snapshot go before they are deleted. */
  Path grave(String key) {
    return directory.resolve(".old-" + key + "-" + counter.incrementAndGet());
  }

  private Snapshot snapshot(String key, SnapshotFacts facts) {
    return new LocalSnapshot(this, key, home(key), facts, new OverlayRoots(layers));
  }

  private Path home(String key) {
    if (!KEY.matcher(key).matches()) {
      throw new IllegalArgumentException("'" + key + "' is not the key of a snapshot");
    }
    return directory.resolve(key);
  }

  private void sweep() throws IOException {
    try (var names = Files.newDirectoryStream(directory)) {
      for (Path path : names) {
        boolean key = KEY.matcher(path.getFileName().toString()).matches();
        if (!key || facts(path).isEmpty()) {
          Path root = path.resolve(LocalSnapshot.ROOT);
          if (Mounts.mounted(root)) {
            Mounts.detach(root);
          }
          OverlayMount.detachLayers(path);
          RootedDirectory.removeTree(path);
        }
      }
    }
  }
}
