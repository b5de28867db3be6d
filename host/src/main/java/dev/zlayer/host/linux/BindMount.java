package dev.zlayer.host.linux;

import dev.zlayer.task.BlockingPool;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Shows a file or directory in a second place, where it may have other owners. */
public final class BindMount {
  /** Set to true, there are no idmapped mounts, as on older kernels; for tests. */
  public static final String REFUSED_PROPERTY = "zlayer.idmap.refused";

  /** The same for tmpfs alone, which has them since 6.3. */
  public static final String REFUSED_FOR_TMPFS_PROPERTY = "zlayer.idmap.refused.tmpfs";

  private static final int AT_FDCWD = -100;
  private static final int CLONE = 1;
  private static final int RECURSIVE = 0x8000;
  private static final int EMPTY_PATH = 0x1000;
  private static final int FROM_EMPTY_PATH = 4;
  private static final long IDMAP = 0x100000;
  private static final int ATTRIBUTES_BYTES = 32;
  private static final int ATTRIBUTES_PROPAGATION = 16;
  private static final int ATTRIBUTES_NAMESPACE = 24;
  private static final long TMPFS_MAGIC = 0x01021994;

  private BindMount() {}

  /**
   * Mounts at a target of the same kind; the mount is private. With a mapping, what is mounted
   * below the source is left out.
   *
   * @throws ErrnoException EINVAL when the kernel cannot map the ids of that file system
   */
  public static void attach(Path source, Path target, Optional<IdMapping> mapping)
      throws ErrnoException {
    BlockingPool.FILES.complete(() -> attachNow(source, target, mapping));
  }

  /**
   * Mounts what a path below a root leads to at a target, which is made. Links lead nowhere outside
   * of the root, and whoever changes them meanwhile changes nothing here.
   *
   * @return false when the path leads nowhere
   */
  public static boolean attachWithin(Path root, String path, Path target) throws IOException {
    try (OwnedDescriptor directory = RootedFiles.openRoot(root);
        OwnedDescriptor found = RootedFiles.openIn(directory, path, RootedFiles.O_PATH_ONLY);
        var using = found.use()) {
      Path source = Path.of("/proc/self/fd/" + using.number());
      if (Files.isDirectory(source)) {
        Files.createDirectories(target);
      } else if (!Files.exists(target)) {
        Files.createFile(target);
      }
      attach(source, target, Optional.empty());
      return true;
    } catch (ErrnoException e) {
      if (e.errno() == ErrnoException.ENOENT || e.errno() == ErrnoException.ENOTDIR) {
        return false;
      }
      throw e;
    }
  }

  private static boolean attachNow(Path source, Path target, Optional<IdMapping> mapping)
      throws ErrnoException {
    try (var kernel = new KernelCalls()) {
      int mount = clone(kernel, source, mapping);
      try {
        attach(kernel, mount, target);
      } finally {
        kernel.closeDescriptor(mount);
      }
      makePrivate(kernel, target);
      return true;
    }
  }

  /** A mount that is nowhere yet. */
  static int clone(KernelCalls kernel, Path source, Optional<IdMapping> mapping)
      throws ErrnoException {
    String raw = KernelCalls.raw(source.toAbsolutePath());
    long place = kernel.first(raw).address();
    int flags = CLONE | OpenDirectory.O_CLOEXEC | (mapping.isPresent() ? 0 : RECURSIVE);
    int mount = (int) kernel.call(Syscall.OPEN_TREE, AT_FDCWD, place, flags, 0);
    if (mount < 0) {
      throw kernel.failure("bind", raw);
    }
    if (mapping.isPresent()) {
      try {
        map(kernel, mount, mapping.get(), raw);
      } catch (ErrnoException e) {
        kernel.closeDescriptor(mount);
        throw e;
      }
    }
    return mount;
  }

  private static void map(KernelCalls kernel, int mount, IdMapping mapping, String raw)
      throws ErrnoException {
    String doing = "map the ids of " + KernelCalls.readable(raw);
    if (refused(kernel, mount)) {
      throw new ErrnoException(doing, ErrnoException.EINVAL);
    }
    try (var namespace = mapping.use()) {
      MemorySegment attributes = kernel.struct();
      attributes.set(ValueLayout.JAVA_LONG, 0, IDMAP);
      // else what is mounted in the original appears here too, and ends there when it ends here
      attributes.set(ValueLayout.JAVA_LONG, ATTRIBUTES_PROPAGATION, Mounts.MS_PRIVATE);
      attributes.set(ValueLayout.JAVA_LONG, ATTRIBUTES_NAMESPACE, namespace.number());
      long empty = kernel.first("").address();
      long result =
          kernel.call(
              Syscall.MOUNT_SETATTR,
              mount,
              empty,
              EMPTY_PATH,
              attributes.address(),
              ATTRIBUTES_BYTES);
      if (result < 0) {
        throw new ErrnoException(doing, kernel.errno());
      }
    }
  }

  private static boolean refused(KernelCalls kernel, int mount) {
    if (Boolean.getBoolean(REFUSED_PROPERTY) || !Boolean.getBoolean(REFUSED_FOR_TMPFS_PROPERTY)) {
      return Boolean.getBoolean(REFUSED_PROPERTY);
    }
    MemorySegment struct = kernel.struct();
    return kernel.call(Syscall.FSTATFS, mount, struct.address(), 0, 0) == 0
        && struct.get(ValueLayout.JAVA_LONG, 0) == TMPFS_MAGIC;
  }

  static void attach(KernelCalls kernel, int mount, Path target) throws ErrnoException {
    String raw = KernelCalls.raw(target.toAbsolutePath());
    long empty = kernel.first("").address();
    long place = kernel.second(raw).address();
    if (kernel.call(Syscall.MOVE_MOUNT, mount, empty, AT_FDCWD, place, FROM_EMPTY_PATH) < 0) {
      throw kernel.failure("mount at", raw);
    }
  }

  static void makePrivate(KernelCalls kernel, Path target) throws ErrnoException {
    String raw = KernelCalls.raw(target.toAbsolutePath());
    long place = kernel.first(raw).address();
    if (kernel.call(Syscall.MOUNT, 0, place, 0, Mounts.MS_PRIVATE) < 0) {
      ErrnoException failure = kernel.failure("make private", raw);
      Mounts.detach(target);
      throw failure;
    }
  }
}
