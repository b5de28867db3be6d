package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/** Makes descriptors to give to a child; nobody inherits them by accident. */
final class Descriptors {
  private static final int AT_FDCWD = -100;
  private static final int O_RDWR = 2;
  private static final int O_CLOEXEC = 0x80000;
  private static final int MFD_CLOEXEC = 1;
  private static final int MFD_ALLOW_SEALING = 2;
  private static final int MFD_EXEC = 0x10;
  private static final int F_DUPFD_CLOEXEC = 1030;
  private static final int F_ADD_SEALS = 1033;
  private static final int F_GET_SEALS = 1034;

  /** Of a file in memory: nothing in it changes any more, and neither do these. */
  private static final int SEALED = 0xF;

  private Descriptors() {}

  /** The two ends of a pipe. */
  record Pipe(OwnedDescriptor reading, OwnedDescriptor writing) {}

  static Pipe pipe() throws ErrnoException {
    try (var kernel = new KernelCalls()) {
      MemorySegment ends = kernel.struct();
      if (kernel.call(Syscall.PIPE2, ends.address(), O_CLOEXEC, 0, 0) < 0) {
        throw kernel.failure("make", "a pipe");
      }
      return new Pipe(
          new OwnedDescriptor(ends.getAtIndex(ValueLayout.JAVA_INT, 0)),
          new OwnedDescriptor(ends.getAtIndex(ValueLayout.JAVA_INT, 1)));
    }
  }

  /** A file that lives in memory as long as somebody has it open. */
  static OwnedDescriptor memory(String name) throws ErrnoException {
    try (var kernel = new KernelCalls()) {
      long place = kernel.first(name).address();
      return made(kernel, kernel.call(Syscall.MEMFD_CREATE, place, MFD_CLOEXEC, 0, 0), name);
    }
  }

  /** The same for a program; {@link #seal} makes it one that cannot be changed. */
  static OwnedDescriptor program(String name) throws ErrnoException {
    int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    try (var kernel = new KernelCalls()) {
      long place = kernel.first(name).address();
      long number = kernel.call(Syscall.MEMFD_CREATE, place, flags | MFD_EXEC, 0, 0);
      if (number < 0 && kernel.errno() == ErrnoException.EINVAL) { // before Linux 6.3
        number = kernel.call(Syscall.MEMFD_CREATE, place, flags, 0, 0);
      }
      return made(kernel, number, name);
    }
  }

  /**
   * From now on nobody can change what is in it, nor how long it is, whoever has it open.
   *
   * @return for reading alone, so that others cannot take a lease that lets a start wait
   */
  static OwnedDescriptor seal(OwnedDescriptor file) throws ErrnoException {
    try (var using = file.use();
        var kernel = new KernelCalls()) {
      String name = "/proc/self/fd/" + using.number();
      if (kernel.call(Syscall.FCNTL, using.number(), F_ADD_SEALS, SEALED, 0) < 0
          || kernel.call(Syscall.FCNTL, using.number(), F_GET_SEALS, 0, 0) != SEALED) {
        throw kernel.failure("seal", name);
      }
      long place = kernel.first(name).address();
      return made(kernel, kernel.call(Syscall.OPENAT, AT_FDCWD, place, O_CLOEXEC, 0), name);
    }
  }

  /** Reads as empty and forgets what is written. */
  static OwnedDescriptor nothing() throws ErrnoException {
    String name = "/dev/null";
    try (var kernel = new KernelCalls()) {
      long place = kernel.first(name).address();
      return made(
          kernel, kernel.call(Syscall.OPENAT, AT_FDCWD, place, O_RDWR | O_CLOEXEC, 0), name);
    }
  }

  /** Another one for the same thing, whose number is not below {@code floor}. */
  static OwnedDescriptor copy(OwnedDescriptor descriptor, int floor) throws ErrnoException {
    try (var using = descriptor.use()) {
      return copy(using.number(), floor);
    }
  }

  /** The same of a standard stream, which nobody owns. */
  static OwnedDescriptor copy(int number, int floor) throws ErrnoException {
    try (var kernel = new KernelCalls()) {
      return made(
          kernel,
          kernel.call(Syscall.FCNTL, number, F_DUPFD_CLOEXEC, floor, 0),
          "descriptor " + number);
    }
  }

  /** Lets a standard stream be the same as the given one; children may inherit it. */
  static void replace(int stream, OwnedDescriptor by) throws ErrnoException {
    try (var using = by.use();
        var kernel = new KernelCalls()) {
      if (kernel.call(Syscall.DUP3, using.number(), stream, 0, 0) < 0) {
        throw kernel.failure("replace", "descriptor " + stream);
      }
    }
  }

  /** What a file holds from its beginning, wherever those who share it stand in it. */
  static byte[] contents(OwnedDescriptor file, int limit) throws IOException {
    byte[] bytes = new byte[0];
    try (var using = file.use();
        var kernel = new KernelCalls()) {
      MemorySegment buffer = kernel.listing();
      while (bytes.length < limit) {
        long wanted = Math.min(limit - bytes.length, KernelCalls.LISTING_BYTES);
        long count =
            kernel.call(
                Syscall.PREAD64, using.number(), buffer.address(), wanted, (long) bytes.length);
        if (count < 0) {
          throw kernel.failure("read", "descriptor " + using.number());
        }
        if (count == 0) {
          break;
        }
        int before = bytes.length;
        bytes = Arrays.copyOf(bytes, before + (int) count);
        MemorySegment.copy(buffer, ValueLayout.JAVA_BYTE, 0, bytes, before, (int) count);
      }
    }
    return bytes;
  }

  private static OwnedDescriptor made(KernelCalls kernel, long number, String name)
      throws ErrnoException {
    if (number < 0) {
      throw kernel.failure("open", name);
    }
    return new OwnedDescriptor((int) number);
  }
}
