package dev.zlayer.host.linux;

import dev.zlayer.task.BlockingPool;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A tree that nothing below it can lead out of. Directories in it are resolved by the kernel as if
 * the root were "/" ({@code openat2} with RESOLVE_IN_ROOT): absolute links and {@code ..} in links
 * stay inside, magic links are not followed, and mounts are crossed only when asked for. Recently
 * used directories stay open.
 *
 * <p>Paths are bytes, one per character (ISO-8859-1). Owned by one thread.
 */
public final class RootedDirectory implements AutoCloseable {
  private static final int AT_FDCWD = -100;
  private static final long RESOLVE = 0x02 | 0x10; // NO_MAGICLINKS, IN_ROOT
  private static final long RESOLVE_NO_XDEV = 0x01;
  private static final long RESOLVE_NO_SYMLINKS = 0x04;
  private static final long RESOLVE_BENEATH = 0x08;
  private static final int CACHED = 64;
  private static final int ATTEMPTS = 1000;

  private final KernelCalls kernel;
  private final OpenDirectory root;
  private final long resolve;
  private final Map<String, OpenDirectory> cache = new LinkedHashMap<>(CACHED, 0.75f, true);

  private RootedDirectory(KernelCalls kernel, OpenDirectory root, long resolve) {
    this.kernel = kernel;
    this.root = root;
    this.resolve = resolve;
  }

  public static RootedDirectory open(Path directory) throws ErrnoException {
    return open(directory, RESOLVE | RESOLVE_NO_XDEV);
  }

  /** Like {@link #open}, but what is mounted below the root is part of the tree. */
  public static RootedDirectory openWithMounts(Path directory) throws ErrnoException {
    return open(directory, RESOLVE);
  }

  private static RootedDirectory open(Path directory, long resolve) throws ErrnoException {
    var kernel = new KernelCalls();
    try {
      String raw = KernelCalls.raw(directory.toAbsolutePath());
      long flags = OpenDirectory.O_PATH | OpenDirectory.O_CLOEXEC | Syscall.O_DIRECTORY;
      long result = kernel.call(Syscall.OPENAT, AT_FDCWD, kernel.first(raw).address(), flags, 0);
      if (result < 0) {
        throw kernel.failure("open directory", raw);
      }
      return new RootedDirectory(kernel, new OpenDirectory(kernel, (int) result), resolve);
    } catch (ErrnoException | RuntimeException e) {
      kernel.close();
      throw e;
    }
  }

  /** Removes a tree of any depth, without following links; absent is fine. */
  public static void removeTree(Path tree) throws IOException {
    removeTree(tree, BlockingPool.FILES);
  }

  /** As {@link #removeTree}, for one that may have so many files that nobody can wait for it. */
  public static void removeLargeTree(Path tree) throws IOException {
    removeTree(tree, BlockingPool.TREES);
  }

  private static void removeTree(Path tree, BlockingPool pool) throws IOException {
    Path absolute = tree.toAbsolutePath();
    Path parent = Objects.requireNonNull(absolute.getParent(), "the root cannot be removed");
    try {
      pool.complete(
          () -> {
            try (var directory = open(parent)) {
              directory.root().remove(KernelCalls.raw(absolute.getFileName()));
              return true;
            }
          });
    } catch (ErrnoException e) {
      if (e.errno() != ErrnoException.ENOENT) {
        throw e;
      }
    }
  }

  public OpenDirectory root() {
    return root;
  }

  /**
   * The directory at that path below the root; valid until this is closed, {@link #forget} is
   * called, or dozens of others were asked for.
   *
   * @throws ErrnoException ENOENT or ENOTDIR when there is none, ELOOP or EXDEV when links or
   *     mounts lead nowhere or out
   */
  public OpenDirectory directory(String path) throws ErrnoException {
    if (path.isEmpty()) {
      return root;
    }
    OpenDirectory known = cache.get(path);
    if (known != null) {
      return known;
    }
    var opened = new OpenDirectory(kernel, resolve(path));
    if (cache.size() >= CACHED) {
      var eldest = cache.entrySet().iterator();
      eldest.next().getValue().close();
      eldest.remove();
    }
    cache.put(path, opened);
    return opened;
  }

  /** Must be called when a directory or a link was removed: its path may now lead elsewhere. */
  public void forget() {
    cache.values().forEach(OpenDirectory::close);
    cache.clear();
  }

  /** Waits until everything written to this file system is on the disk. */
  public void sync() throws ErrnoException {
    // a descriptor that only holds a place cannot be synced
    long flags = Syscall.O_DIRECTORY | OpenDirectory.O_CLOEXEC;
    long place = kernel.first(OpenDirectory.SELF).address();
    int opened = (int) kernel.call(Syscall.OPENAT, root.descriptor(), place, flags, 0);
    if (opened < 0) {
      throw kernel.failure("open", "directory");
    }
    try {
      if (kernel.call(Syscall.SYNCFS, opened, 0, 0, 0) < 0) {
        throw kernel.failure("sync", "file system");
      }
    } finally {
      kernel.closeDescriptor(opened);
    }
  }

  @Override
  public void close() {
    forget();
    root.close();
    kernel.close();
  }

  /** From the parent when that is open: from the root, a path of thousands would cost each time. */
  private int resolve(String path) throws ErrnoException {
    int slash = path.lastIndexOf('/');
    OpenDirectory parent = slash < 0 ? null : cache.get(path.substring(0, slash));
    String name = path.substring(slash + 1);
    if (parent != null && !name.isEmpty() && !name.equals(".") && !name.equals("..")) {
      long only = (resolve & RESOLVE_NO_XDEV) | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
      long result = open(parent, name, only);
      if (result >= 0) {
        return (int) result;
      }
    }
    long result = open(root, path, resolve);
    if (result < 0) {
      throw kernel.failure("resolve", path);
    }
    return (int) result;
  }

  private long open(OpenDirectory from, String path, long how) throws ErrnoException {
    MemorySegment struct = kernel.struct();
    long flags = OpenDirectory.O_PATH | OpenDirectory.O_CLOEXEC | Syscall.O_DIRECTORY;
    struct.set(ValueLayout.JAVA_LONG, 0, flags);
    struct.set(ValueLayout.JAVA_LONG, 16, how);
    long place = kernel.first(path).address();
    long result = -1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      result = kernel.call(Syscall.OPENAT2, from.descriptor(), place, struct.address(), 24);
      // the kernel gives up on ".." when anything anywhere was renamed meanwhile
      if (result >= 0 || kernel.errno() != ErrnoException.EAGAIN) {
        break;
      }
    }
    return result;
  }
}
