package dev.zlayer.host.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * One thread's way to the kernel: the place for errno and memory for arguments, allocated once and
 * used by every call. File names are bytes to the kernel; here they are strings of ISO-8859-1
 * characters, one per byte, so that no name is ever lost in a conversion.
 */
final class KernelCalls implements AutoCloseable {
  static final int NAME_BYTES = 4096;
  static final int IO_BYTES = 256 * 1024;
  static final int LISTING_BYTES = 16 * 1024;

  private final Libc.Call memory = Libc.call();
  private final MemorySegment first = memory.allocate(NAME_BYTES + 1);
  private final MemorySegment second = memory.allocate(NAME_BYTES + 1);
  private final MemorySegment struct = memory.allocate(256);
  private @Nullable MemorySegment io;
  private @Nullable MemorySegment listing;

  /** A name as text for people: bytes that are no UTF-8 and control characters are replaced. */
  static String readable(String raw) {
    String text =
        new String(raw.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8)
            .replaceAll("\\p{Cntrl}", "?");
    return text.length() <= 200 ? text : text.substring(0, 200) + "...";
  }

  static String raw(Path path) {
    return new String(
        path.toString().getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
  }

  /** The name in native memory that stays as it is until the next use of the same place. */
  MemorySegment first(String raw) throws ErrnoException {
    return put(first, raw);
  }

  MemorySegment second(String raw) throws ErrnoException {
    return put(second, raw);
  }

  /** Room for a small structure, zeroed. */
  MemorySegment struct() {
    return struct.fill((byte) 0);
  }

  /** The buffer through which contents, attributes and listings pass. */
  MemorySegment io() {
    MemorySegment buffer = io;
    if (buffer == null) {
      buffer = memory.allocate(IO_BYTES);
      io = buffer;
    }
    return buffer;
  }

  /** Room for one part of a directory's listing; small, since most directories are. */
  MemorySegment listing() {
    MemorySegment buffer = listing;
    if (buffer == null) {
      buffer = memory.allocate(LISTING_BYTES);
      listing = buffer;
    }
    return buffer;
  }

  long call(Syscall call, long a, long b, long c, long d) {
    return call.invoke(memory.errno(), a, b, c, d, 0, 0);
  }

  long call(Syscall call, long a, long b, long c, long d, long e) {
    return call.invoke(memory.errno(), a, b, c, d, e, 0);
  }

  /** The number of the failure of the call before. */
  int errno() {
    return memory.errnoValue();
  }

  ErrnoException failure(String doing, String rawName) {
    return new ErrnoException(doing + " " + readable(rawName), errno());
  }

  void closeDescriptor(int descriptor) {
    call(Syscall.CLOSE, descriptor, 0, 0, 0);
  }

  @Override
  public void close() {
    memory.close();
  }

  private static MemorySegment put(MemorySegment place, String raw) throws ErrnoException {
    if (raw.length() >= NAME_BYTES) {
      throw new ErrnoException("use name " + readable(raw), ErrnoException.ENAMETOOLONG);
    }
    if (raw.indexOf('\0') >= 0) {
      throw new ErrnoException("use name " + readable(raw), ErrnoException.EINVAL);
    }
    byte[] bytes = raw.getBytes(StandardCharsets.ISO_8859_1);
    MemorySegment.copy(bytes, 0, place, ValueLayout.JAVA_BYTE, 0, bytes.length);
    place.set(ValueLayout.JAVA_BYTE, bytes.length, (byte) 0);
    return place;
  }
}
