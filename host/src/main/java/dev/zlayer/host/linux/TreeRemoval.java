package dev.zlayer.host.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * Removes a tree of any depth by descriptors alone: no path grows too long, no link is followed. A
 * directory too deep for the stack is moved up to the top of the tree and removed from there.
 */
final class TreeRemoval {
  private static final int MAX_DEPTH = 128;
  private static final int AT_REMOVEDIR = 0x200;
  private static final int RENAME_NOREPLACE = 1;
  private static final long RESOLVE_NO_XDEV = 1;
  private static final long RESOLVE_NO_SYMLINKS = 4;
  private static final int HOW_BYTES = 24;

  private final KernelCalls kernel;
  private int top = -1;
  private long moved;

  TreeRemoval(KernelCalls kernel) {
    this.kernel = kernel;
  }

  void remove(int parent, String name) throws ErrnoException {
    if (!unlink(parent, name)) {
      directory(parent, name, 0);
    }
  }

  private void directory(int parent, String name, int depth) throws ErrnoException {
    int listed = open(parent, name);
    try {
      if (depth == 0) {
        top = listed;
      }
      // deleting while listing may skip names, so list again until there are none
      for (List<String> names = OpenDirectory.batch(kernel, listed);
          !names.isEmpty();
          names = OpenDirectory.batch(kernel, listed)) {
        for (String child : names) {
          child(listed, child, depth);
        }
        kernel.call(Syscall.LSEEK, listed, 0, 0, 0);
      }
    } finally {
      kernel.closeDescriptor(listed);
    }
    long place = kernel.first(name).address();
    if (kernel.call(Syscall.UNLINKAT, parent, place, AT_REMOVEDIR, 0) < 0) {
      throw kernel.failure("remove directory", name);
    }
  }

  private void child(int parent, String name, int depth) throws ErrnoException {
    if (unlink(parent, name)) {
      return;
    }
    if (depth < MAX_DEPTH) {
      directory(parent, name, depth + 1);
    } else {
      moveUp(parent, name);
    }
  }

  private void moveUp(int parent, String name) throws ErrnoException {
    while (true) {
      String free = ".deep-" + moved++;
      long from = kernel.first(name).address();
      long to = kernel.second(free).address();
      if (kernel.call(Syscall.RENAMEAT2, parent, from, top, to, RENAME_NOREPLACE) == 0) {
        return;
      }
      if (kernel.errno() != ErrnoException.EEXIST) {
        throw kernel.failure("move up", name);
      }
    }
  }

  /** False for a directory. */
  private boolean unlink(int parent, String name) throws ErrnoException {
    long result = kernel.call(Syscall.UNLINKAT, parent, kernel.first(name).address(), 0, 0);
    if (result == 0) {
      return true;
    }
    return switch (kernel.errno()) {
      case ErrnoException.ENOENT -> true;
      case ErrnoException.EISDIR, ErrnoException.EPERM -> false;
      default -> throw kernel.failure("remove", name);
    };
  }

  /** What is mounted in the tree belongs to somebody else: nothing in it is removed. */
  private int open(int parent, String name) throws ErrnoException {
    MemorySegment how = kernel.struct();
    how.set(ValueLayout.JAVA_LONG, 0, Syscall.O_DIRECTORY | OpenDirectory.O_CLOEXEC);
    how.set(ValueLayout.JAVA_LONG, 16, RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
    long place = kernel.first(name).address();
    long result = kernel.call(Syscall.OPENAT2, parent, place, how.address(), HOW_BYTES);
    if (result >= 0) {
      return (int) result;
    }
    throw kernel.errno() == ErrnoException.EXDEV
        ? new ErrnoException(
            "remove %s, where a file system is mounted".formatted(KernelCalls.readable(name)),
            ErrnoException.EBUSY)
        : kernel.failure("open directory", name);
  }
}
