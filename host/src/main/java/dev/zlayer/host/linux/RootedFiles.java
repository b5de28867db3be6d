package dev.zlayer.host.linux;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Optional;

/** Single files and directories inside a root that no link in it can lead out of. */
public final class RootedFiles {
  private static final long AT_FDCWD = -100;
  private static final long O_NONBLOCK = 0x800;
  private static final long O_CLOEXEC = 0x80000;
  private static final long O_PATH = 0x200000;

  /** To hold on to a file without opening it. */
  static final long O_PATH_ONLY = O_PATH | O_CLOEXEC;

  private static final long RESOLVE_NO_MAGICLINKS = 2;
  private static final long RESOLVE_IN_ROOT = 16;

  private RootedFiles() {}

  /** The content of a small regular file; empty when there is none. */
  public static Optional<byte[]> read(Path root, String path, int limit) throws IOException {
    try (OwnedDescriptor directory = openRoot(root);
        OwnedDescriptor held = openIn(directory, path, O_PATH_ONLY);
        OwnedDescriptor file = reopen(held, path)) {
      var content = new ByteArrayOutputStream();
      var buffer = new byte[8192];
      int count = file.read(buffer);
      while (count > 0) {
        content.write(buffer, 0, count);
        if (content.size() > limit) {
          throw new IOException(path + " in the image is over " + limit + " bytes");
        }
        count = file.read(buffer);
      }
      return Optional.of(content.toByteArray());
    } catch (ErrnoException e) {
      if (e.errno() == ErrnoException.ENOENT || e.errno() == ErrnoException.ENOTDIR) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /** Where a path inside leads on the host right now; empty when it leads nowhere. */
  public static Optional<Path> resolve(Path root, String path) throws IOException {
    try (OwnedDescriptor directory = openRoot(root);
        OwnedDescriptor file = openIn(directory, path, O_PATH_ONLY);
        var using = file.use()) {
      return Optional.of(
          java.nio.file.Files.readSymbolicLink(Path.of("/proc/self/fd/" + using.number())));
    } catch (ErrnoException e) {
      if (e.errno() == ErrnoException.ENOENT || e.errno() == ErrnoException.ENOTDIR) {
        return Optional.empty();
      }
      throw e;
    }
  }

  static OwnedDescriptor openRoot(Path root) throws ErrnoException {
    try (var call = Libc.call()) {
      long path = call.string(root.toAbsolutePath().toString()).address();
      long flags = O_PATH | O_CLOEXEC | Syscall.O_DIRECTORY;
      return new OwnedDescriptor(
          (int)
              call.check(
                  Syscall.OPENAT.invoke(call.errno(), AT_FDCWD, path, flags, 0, 0, 0),
                  "open " + root));
    }
  }

  /** Only a regular file: to open a device of an image would do something to the host. */
  private static OwnedDescriptor reopen(OwnedDescriptor held, String path) throws IOException {
    try (var using = held.use();
        var call = Libc.call()) {
      String place = "/proc/self/fd/" + using.number();
      if (!java.nio.file.Files.isRegularFile(Path.of(place))) {
        throw new IOException(path + " in the image is not a regular file");
      }
      long name = call.string(place).address();
      long flags = O_NONBLOCK | O_CLOEXEC;
      return new OwnedDescriptor(
          (int)
              call.check(
                  Syscall.OPENAT.invoke(call.errno(), AT_FDCWD, name, flags, 0, 0, 0),
                  "open " + path + " in the image"));
    }
  }

  static OwnedDescriptor openIn(OwnedDescriptor root, String path, long flags)
      throws ErrnoException {
    try (var using = root.use();
        var call = Libc.call()) {
      var how = call.allocate(24);
      how.set(ValueLayout.JAVA_LONG, 0, flags);
      how.set(ValueLayout.JAVA_LONG, 16, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
      long name = call.string(path).address();
      return new OwnedDescriptor(
          (int)
              call.check(
                  Syscall.OPENAT2.invoke(
                      call.errno(), using.number(), name, how.address(), 24, 0, 0),
                  "open " + path + " in the image"));
    }
  }
}
