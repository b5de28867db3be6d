package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Namespaces that outlive their maker: each is pinned by a mount on a file, which is its name. A
 * namespace dies when the file is deleted here and the last process in it has ended.
 */
public final class Namespaces implements AutoCloseable {
  private static final Libc.Function UMOUNT2 = Libc.bind("umount2");
  private static final Libc.Function STATFS = Libc.bind("statfs");
  private static final int MNT_DETACH = 2;
  private static final long NSFS_MAGIC = 0x6e736673;
  private static final long STATFS_BYTES = 256; // larger than the structure on any architecture

  private final NamespaceThread loop = new NamespaceThread();

  /**
   * Makes a namespace with its loopback interface up. When it fails, neither mount nor file is left
   * behind. Not interruptible: it takes a few milliseconds, and half of one is of no use.
   */
  public void create(Path file) throws IOException {
    create(file, Optional.empty());
  }

  /**
   * The same with a namespace that was just made elsewhere, so that a user namespace owns it.
   *
   * @param from where it is found, such as in the directory of a process
   */
  public void create(Path file, Optional<Path> from) throws IOException {
    Files.createFile(file);
    try {
      loop.create(file, from);
    } catch (IOException e) {
      delete(file);
      throw e;
    }
  }

  /** Connects a namespace to a bridge; what is half made when it fails ends with the namespace. */
  public void connect(Path file, BridgePort port) throws IOException {
    loop.connect(file, port);
  }

  /** Where a namespace of a process is found as long as it lives; {@code net}, {@code user} ... */
  public static Path of(long pid, String kind) {
    return Path.of("/proc", Long.toString(pid), "ns", kind);
  }

  /** Gives a namespace a further name that outlives the first; the file must not exist. */
  public static void pin(Path namespace, Path file) throws IOException {
    Files.createFile(file);
    try {
      BindMount.attach(namespace, file, Optional.empty());
    } catch (IOException e) {
      delete(file);
      throw e;
    }
  }

  /** Says whom the users and groups of a process in a new user namespace are on the host. */
  public static void map(long pid, String lines) throws IOException {
    // the kernel takes the whole of it in one call, once
    for (String kind : List.of("uid_map", "gid_map")) {
      Files.write(
          Path.of("/proc", Long.toString(pid), kind), lines.getBytes(StandardCharsets.UTF_8));
    }
  }

  /** Whether the file names a namespace now; a plain file left by a crash or reboot does not. */
  public static boolean alive(Path file) {
    try (var call = Libc.call()) {
      var result = call.allocate(STATFS_BYTES);
      int code = STATFS.call(call, call.string(file.toString()).address(), result.address());
      return code == 0 && result.get(ValueLayout.JAVA_LONG, 0) == NSFS_MAGIC;
    }
  }

  /** Unmounts and removes the file; does nothing when there is none. */
  public static void delete(Path file) throws IOException {
    while (alive(file)) {
      unmount(file);
    }
    Files.deleteIfExists(file);
  }

  /** Ends the thread; the namespaces stay. */
  @Override
  public void close() {
    loop.close();
  }

  private static void unmount(Path file) throws ErrnoException {
    try (var call = Libc.call()) {
      int code = UMOUNT2.call(call, call.string(file.toString()).address(), MNT_DETACH);
      if (code < 0 && call.errnoValue() != ErrnoException.EINVAL) {
        call.check(code, "unmount " + file);
      }
    }
  }
}
