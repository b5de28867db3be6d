package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The reading end of a named pipe. Opening it does not wait for a writer but lets one go on that
 * waits for a reader.
 */
public final class Fifo implements AutoCloseable {
  private static final int AT_FDCWD = -100;
  private static final int O_WRONLY = 1;
  private static final int O_NONBLOCK = 0x800;
  private static final int O_CLOEXEC = 0x80000;
  private static final int ENXIO = 6;
  private static final short POLLIN = 1;
  private static final long ENTRY = 8; // struct pollfd
  private static final long REVENTS = 6;
  private static final Libc.Function POLL = Libc.bind("poll");

  private final OwnedDescriptor descriptor;

  private Fifo(OwnedDescriptor descriptor) {
    this.descriptor = descriptor;
  }

  /** What came of waiting. */
  public enum Answer {
    /** Something was written, and is now read. */
    WRITTEN,
    /** The process ended, or closed the pipe, without writing anything. */
    ENDED,
    NOTHING_YET
  }

  /** Writes a byte to whoever reads; false when there is nothing of that name or nobody reads. */
  public static boolean tell(Path path) throws IOException {
    return write(path, new byte[1]);
  }

  /** The same with a few bytes. */
  public static boolean write(Path path, byte[] bytes) throws IOException {
    Optional<OwnedDescriptor> end = open(path, O_WRONLY);
    if (end.isEmpty()) {
      return false;
    }
    try (OwnedDescriptor writing = end.get()) {
      writing.write(bytes, 0, bytes.length);
      return true;
    }
  }

  /** Empty when there is nothing of that name. */
  public static Optional<Fifo> open(Path path) throws ErrnoException {
    return open(path, 0).map(Fifo::new);
  }

  private static Optional<OwnedDescriptor> open(Path path, int mode) throws ErrnoException {
    try (var kernel = new KernelCalls()) {
      String raw = KernelCalls.raw(path.toAbsolutePath());
      long place = kernel.first(raw).address();
      int flags = mode | O_NONBLOCK | O_CLOEXEC | Syscall.O_NOFOLLOW;
      long number = kernel.call(Syscall.OPENAT, AT_FDCWD, place, flags, 0);
      if (number < 0) {
        if (kernel.errno() == ErrnoException.ENOENT || kernel.errno() == ENXIO) {
          return Optional.empty();
        }
        throw kernel.failure("open", raw);
      }
      return Optional.of(new OwnedDescriptor((int) number));
    }
  }

  /** Waits for that process to write; blocks the operating system's thread, so keep it short. */
  public Answer await(PidFd writer, int millis) throws IOException {
    try (var own = descriptor.use();
        var other = writer.descriptor().use();
        var call = Libc.call()) {
      MemorySegment entries = call.allocate(2 * ENTRY);
      entries.set(ValueLayout.JAVA_INT, 0, own.number());
      entries.set(ValueLayout.JAVA_SHORT, 4, POLLIN);
      entries.set(ValueLayout.JAVA_INT, ENTRY, other.number());
      entries.set(ValueLayout.JAVA_SHORT, ENTRY + 4, POLLIN);
      int count = POLL.call(call, entries.address(), 2, millis);
      if (count < 0 && call.errnoValue() == ErrnoException.EINTR) {
        return Answer.NOTHING_YET;
      }
      if (call.check(count, "poll") == 0) {
        return Answer.NOTHING_YET;
      }
      short told = entries.get(ValueLayout.JAVA_SHORT, REVENTS);
      // what was written before the end still counts, so the pipe is asked first
      return (told & POLLIN) != 0 && descriptor.read(new byte[1]) > 0
          ? Answer.WRITTEN
          : Answer.ENDED;
    }
  }

  @Override
  public void close() {
    descriptor.close();
  }
}
