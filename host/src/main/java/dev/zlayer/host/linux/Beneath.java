package dev.zlayer.host.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;

/**
 * Finds files below a directory whose content others may change at any time. The kernel resolves
 * each path ({@code openat2} with RESOLVE_BENEATH) and what it finds is held, so nothing that is
 * swapped afterwards leads elsewhere. Links are followed as long as they stay below.
 */
public final class Beneath {
  private static final int AT_FDCWD = -100;
  private static final long RESOLVE = 0x02 | 0x08; // NO_MAGICLINKS, BENEATH
  private static final int ATTEMPTS = 1000;

  private Beneath() {}

  /** Something found; its path leads there until this is closed. */
  public static final class Held implements AutoCloseable {
    private final OwnedDescriptor descriptor;
    private final OwnedDescriptor.Use use;
    private final String below;

    private Held(OwnedDescriptor descriptor, String below) throws ErrnoException {
      this.descriptor = descriptor;
      this.use = descriptor.use();
      this.below = below;
    }

    /** For calls of the Java library; the last name is not resolved yet if it was not asked for. */
    public Path path() {
      return Path.of("/proc/self/fd/" + use.number() + below);
    }

    /** Where it is just now, or its directory if the last name is not resolved. */
    public Path place() throws java.io.IOException {
      return java.nio.file.Files.readSymbolicLink(Path.of("/proc/self/fd/" + use.number()));
    }

    @Override
    public void close() {
      use.close();
      descriptor.close();
    }
  }

  /**
   * What a path leads to, links followed.
   *
   * @param path without a leading slash; empty for the directory itself
   * @throws ErrnoException ENOENT or ENOTDIR when there is none, EXDEV when a link leads out
   */
  public static Held file(Path directory, String path) throws ErrnoException {
    return new Held(open(directory, path, 0), "");
  }

  /** A name in a directory, which is not followed and need not exist. */
  public static Held entry(Path directory, String parent, String name) throws ErrnoException {
    if (name.isEmpty() || name.equals(".") || name.equals("..") || name.indexOf('/') >= 0) {
      throw new ErrnoException("use name " + name, ErrnoException.EINVAL);
    }
    return new Held(open(directory, parent, Syscall.O_DIRECTORY), "/" + name);
  }

  private static OwnedDescriptor open(Path directory, String path, int kind) throws ErrnoException {
    try (var kernel = new KernelCalls()) {
      long flags = OpenDirectory.O_PATH | OpenDirectory.O_CLOEXEC;
      String raw = KernelCalls.raw(directory.toAbsolutePath());
      int root =
          (int)
              kernel.call(
                  Syscall.OPENAT,
                  AT_FDCWD,
                  kernel.first(raw).address(),
                  flags | Syscall.O_DIRECTORY,
                  0);
      if (root < 0) {
        throw kernel.failure("open", raw);
      }
      try {
        return new OwnedDescriptor(resolve(kernel, root, path, flags | kind));
      } finally {
        kernel.closeDescriptor(root);
      }
    }
  }

  private static int resolve(KernelCalls kernel, int root, String path, long flags)
      throws ErrnoException {
    String raw = path.isEmpty() ? "." : KernelCalls.raw(Path.of(path));
    MemorySegment how = kernel.struct();
    how.set(ValueLayout.JAVA_LONG, 0, flags);
    how.set(ValueLayout.JAVA_LONG, 16, RESOLVE);
    long place = kernel.first(raw).address();
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      long result = kernel.call(Syscall.OPENAT2, root, place, how.address(), 24);
      if (result >= 0) {
        return (int) result;
      }
      // the kernel gives up on ".." when anything anywhere was renamed meanwhile
      if (kernel.errno() != ErrnoException.EAGAIN) {
        break;
      }
    }
    throw kernel.failure("resolve", raw);
  }
}
