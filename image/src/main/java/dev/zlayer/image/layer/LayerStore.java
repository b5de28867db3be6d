package dev.zlayer.image.layer;

import dev.zlayer.host.linux.BootId;
import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.oci.Digest;
import dev.zlayer.tar.TarException;
import dev.zlayer.tar.TarReader;
import dev.zlayer.task.BlockingPool;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * Unpacked layers by diff id. A layer is there as a whole or not at all: it grows under another
 * name and is renamed when all of it was verified. Waiting for the disk can take longer than
 * unpacking, so it is done once for many layers, by {@link #settle}; until then a layer is marked,
 * and after a crash of the machine marked layers do not count. Safe for many threads of one
 * process; the data directory's lock keeps other processes away.
 */
public final class LayerStore {
  private static final String GROWING = "new-";
  private static final String DYING = "old-";
  private static final String TREE = "fs";
  private static final String FACTS = "layer.json";
  private static final String IMPLIED = "implied";
  private static final String UNSETTLED = "unsettled";

  private final Path directory;
  private final String boot;
  private final LayerLimits limits;
  private final KeyedLock<Digest> locks = new KeyedLock<>();
  private final AtomicLong counter = new AtomicLong();
  private final Set<Path> busy = ConcurrentHashMap.newKeySet();

  private LayerStore(Path directory, LayerLimits limits, String boot) {
    this.directory = directory;
    this.boot = boot;
    this.limits = limits;
  }

  /**
   * Opens the store in that directory, which only its owner may enter: layers hold programs that
   * run with other rights, and devices.
   */
  public static LayerStore open(Path directory, LayerLimits limits) throws IOException {
    return open(directory, limits, BootId.read());
  }

  /** As if the machine had started under that name. */
  static LayerStore open(Path directory, LayerLimits limits, String boot) throws IOException {
    Files.createDirectories(directory);
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
    return new LayerStore(directory.toRealPath(), limits, boot);
  }

  public boolean has(Digest diffId) {
    return whole(home(diffId));
  }

  /**
   * Unpacks a layer unless it is there already. Calls for one diff id wait for each other, so the
   * work is done once. The blob is not closed.
   *
   * @param blob tar, plain or compressed with gzip or zstd, told apart by its first bytes
   * @param compressedBytesRead is told, on another thread, how many bytes of the blob are read
   * @throws LayerException names the entry at fault; nothing is left behind
   */
  public void unpack(Digest diffId, InputStream blob, LongConsumer compressedBytesRead)
      throws LayerException, InterruptedException {
    try (var _ = locks.lock(diffId)) {
      if (has(diffId)) {
        return;
      }
      Path growing = directory.resolve(GROWING + diffId.brief() + "-" + name());
      busy.add(growing);
      try {
        retire(diffId).delete(); // it lost its content in a crash, if it is there at all
        BlockingPool.STREAMS.call(
            () -> {
              grow(growing, diffId, blob, compressedBytesRead);
              return true;
            });
        Files.move(growing, home(diffId), StandardCopyOption.ATOMIC_MOVE);
      } catch (IOException e) {
        throw translated(e, diffId);
      } finally {
        discard(growing);
      }
    }
  }

  /** The root of the layer's tree, to be read only. */
  public Path path(Digest diffId) {
    return home(diffId).resolve(TREE);
  }

  /** All layers that are complete. */
  public Set<Digest> list() throws IOException {
    var found = new TreeSet<Digest>();
    for (Path path : homes()) {
      if (whole(path)) {
        found.add(digest(path));
      }
    }
    return found;
  }

  /**
   * Waits until all layers are on the disk, once for all of them; does nothing when none was
   * unpacked before that time. What a crash of the machine takes before has to be unpacked again.
   * The kernel writes by itself what has lain for half a minute, so there is little to wait for
   * when {@code before} is a while ago.
   */
  public void settle(Instant before) throws IOException {
    List<Path> marks = new ArrayList<>();
    boolean due = false;
    for (Path path : homes()) {
      Path mark = path.resolve(UNSETTLED);
      if (Files.exists(mark) && whole(path)) {
        marks.add(mark);
        due |= Files.getLastModifiedTime(mark).toInstant().isBefore(before);
      }
    }
    if (!due) {
      return;
    }
    BlockingPool.FILES.complete(
        () -> {
          try (var root = RootedDirectory.open(directory)) {
            root.sync();
            return true;
          }
        });
    for (Path mark : marks) {
      Files.deleteIfExists(mark);
    }
  }

  public LayerUsage usage(Digest diffId) throws IOException {
    return LayerFacts.read(home(diffId).resolve(FACTS)).usage();
  }

  /** Directories that no entry of the layer described; sorted, so parents come first. */
  public Set<String> implied(Digest diffId) throws IOException {
    return LayerFacts.readPaths(home(diffId).resolve(IMPLIED));
  }

  /** What was taken out of the store and still has to be deleted, however long that takes. */
  @FunctionalInterface
  public interface Remains {
    void delete() throws IOException;
  }

  /** Removes a layer that nothing uses any more; absent is fine. */
  public void remove(Digest diffId) throws IOException {
    detach(diffId).delete();
  }

  /** Takes a layer out of the store at once; its files are there until they are deleted. */
  public Remains detach(Digest diffId) throws IOException {
    try (var _ = locks.lock(diffId)) {
      return retire(diffId);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("removing layer " + diffId + " was interrupted");
    }
  }

  /** Removes what a process or machine that died left half made, half removed or half written. */
  public void sweep() throws IOException {
    for (Path path : homes()) {
      if (!whole(path)) {
        remove(digest(path));
      }
    }
    try (var names = Files.newDirectoryStream(directory, "{" + GROWING + "," + DYING + "}*")) {
      for (Path path : names) {
        if (!busy.contains(path)) {
          RootedDirectory.removeTree(path);
        }
      }
    }
  }

  private void grow(Path growing, Digest diffId, InputStream blob, LongConsumer progress)
      throws IOException, InterruptedException {
    Path tree = Files.createDirectories(growing.resolve(TREE));
    Files.setPosixFilePermissions(tree, PosixFilePermissions.fromString("rwxr-xr-x"));
    try (var scope = TaskScope.ofPlatformThreads("unpack " + diffId.brief());
        var root = RootedDirectory.open(tree);
        var implied = new LayerFacts.PathWriter(growing.resolve(IMPLIED));
        var times = new PathJournal(growing.resolve("times"))) {
      var stream = BlobStream.start(scope, blob, diffId, limits, progress);
      var unpacker = new Unpacker(new LayerTree(root, implied::add), limits, times);
      LayerUsage usage = unpacker.unpack(new TarReader(stream));
      if (!unpacker.rootDescribed()) {
        implied.add("");
      }
      Digest actual = stream.finish(diffId);
      if (!actual.equals(diffId)) {
        throw new LayerException(
            "the layer's content is %s, but its diff id is %s".formatted(actual, diffId), null);
      }
      implied.close();
      new LayerFacts(usage).write(growing.resolve(FACTS));
      Files.writeString(growing.resolve(UNSETTLED), boot);
    }
  }

  /** Nobody finds it any more before the first file is deleted. */
  private Remains retire(Digest diffId) throws IOException {
    Path dying = directory.resolve(DYING + diffId.brief() + "-" + name());
    busy.add(dying);
    try {
      Files.move(home(diffId), dying, StandardCopyOption.ATOMIC_MOVE);
    } catch (NoSuchFileException _) {
      busy.remove(dying);
      return () -> {};
    } catch (IOException e) {
      busy.remove(dying);
      throw e;
    }
    return () -> {
      try {
        RootedDirectory.removeLargeTree(dying);
      } finally {
        busy.remove(dying);
      }
    };
  }

  /**
   * The interrupt flag must not keep us from cleaning up; a renamed layer is not there any more.
   */
  private void discard(Path growing) throws LayerException {
    boolean interrupted = Thread.interrupted();
    try {
      RootedDirectory.removeTree(growing);
      busy.remove(growing);
    } catch (IOException e) {
      throw new LayerException("could not remove " + growing + ": " + e.getMessage(), e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static LayerException translated(IOException e, Digest diffId)
      throws InterruptedException {
    boolean refused =
        e.getCause() instanceof ErrnoException cause && cause.errno() == ErrnoException.EPERM;
    if (refused && !Machine.root()) {
      return new LayerException(
          "cannot unpack a Linux image: the agent needs root (or rootless mode) for it; 'zlayer"
              + " doctor' lists what is missing",
          e);
    }
    return switch (e) {
      case LayerException known -> known;
      case TarException broken -> new LayerException(broken.member(), broken.reason(), broken);
      case InterruptedIOException _ when Thread.interrupted() ->
          throw new InterruptedException("unpacking " + diffId + " was interrupted");
      case ErrnoException failed ->
          new LayerException("cannot unpack " + diffId + ": " + failed.getMessage(), failed);
      default -> new LayerException("cannot unpack " + diffId + ": " + e.getMessage(), e);
    };
  }

  /** There, and on the disk or at least in the memory of the machine that wrote it. */
  private boolean whole(Path home) {
    try {
      return Files.isDirectory(home) && Files.readString(home.resolve(UNSETTLED)).equals(boot);
    } catch (NoSuchFileException _) {
      return Files.isDirectory(home); // settled, unless it was removed meanwhile
    } catch (IOException _) {
      return false; // the mark itself is damaged
    }
  }

  private List<Path> homes() throws IOException {
    try (var names = Files.newDirectoryStream(directory, "sha*-*")) {
      List<Path> found = new ArrayList<>();
      names.forEach(found::add);
      return found;
    }
  }

  private static Digest digest(Path home) {
    String[] parts = home.getFileName().toString().split("-", 2);
    return new Digest(parts[0], parts[1]);
  }

  private Path home(Digest diffId) {
    return directory.resolve(diffId.algorithm() + "-" + diffId.hex());
  }

  /** Never the name of a leftover: those are swept, but perhaps not yet. */
  private String name() {
    return ProcessHandle.current().pid() + "-" + counter.incrementAndGet();
  }
}
