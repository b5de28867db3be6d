package dev.zlayer.host.linux;

import java.nio.file.Path;

/** Shows other owners in a mount than there are on the disk: what a user namespace says. */
public final class IdMapping implements AutoCloseable {
  private static final int AT_FDCWD = -100;

  private final OwnedDescriptor namespace;

  private IdMapping(OwnedDescriptor namespace) {
    this.namespace = namespace;
  }

  /** From a user namespace, which need not live on. */
  public static IdMapping open(Path namespace) throws ErrnoException {
    try (var kernel = new KernelCalls()) {
      String raw = KernelCalls.raw(namespace);
      long place = kernel.first(raw).address();
      long opened = kernel.call(Syscall.OPENAT, AT_FDCWD, place, OpenDirectory.O_CLOEXEC, 0);
      if (opened < 0) {
        throw kernel.failure("open", raw);
      }
      return new IdMapping(new OwnedDescriptor((int) opened));
    }
  }

  OwnedDescriptor.Use use() throws ErrnoException {
    return namespace.use();
  }

  @Override
  public void close() {
    namespace.close();
  }
}
