package dev.zlayer.host.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A regular file held open, to be written and given its metadata, or to be copied from. */
public final class OpenFile implements AutoCloseable {
  private static final int FICLONE = 0x40049409;
  private static final int SEEK_DATA = 3;
  private static final int SEEK_HOLE = 4;
  private static final int ENXIO = 6;
  private static final int AT_EMPTY_PATH = 0x1000;

  private final KernelCalls kernel;
  private final int descriptor;
  private final String name;

  OpenFile(KernelCalls kernel, int descriptor, String name) {
    this.kernel = kernel;
    this.descriptor = descriptor;
    this.name = name;
  }

  /** What was opened, whatever has its name now. */
  public FileStat stat() throws ErrnoException {
    MemorySegment struct = kernel.struct();
    long nothing = kernel.first("").address();
    long result =
        kernel.call(
            Syscall.STATX,
            descriptor,
            nothing,
            AT_EMPTY_PATH,
            OpenDirectory.STATX_BASIC_STATS,
            struct.address());
    check(result, "stat");
    return FileStat.from(struct);
  }

  /** Reads at that offset into the beginning of {@code into}; 0 at the end of the file. */
  public int read(long offset, byte[] into) throws ErrnoException {
    MemorySegment buffer = kernel.io();
    long wanted = Math.min(into.length, KernelCalls.IO_BYTES);
    long got = kernel.call(Syscall.PREAD64, descriptor, buffer.address(), wanted, offset);
    check(got, "read");
    MemorySegment.copy(buffer, ValueLayout.JAVA_BYTE, 0, into, 0, (int) got);
    return (int) got;
  }

  /** Writes all of it at that offset of the file. */
  public void write(long offset, byte[] data, int from, int length) throws ErrnoException {
    MemorySegment buffer = kernel.io();
    for (int done = 0; done < length; ) {
      int part = Math.min(length - done, KernelCalls.IO_BYTES);
      MemorySegment.copy(data, from + done, buffer, ValueLayout.JAVA_BYTE, 0, part);
      writeBuffer(offset + done, part);
      done += part;
    }
  }

  /** Makes the file that long; what was not written reads as zeros and takes no room. */
  public void length(long length) throws ErrnoException {
    check(kernel.call(Syscall.FTRUNCATE, descriptor, length, 0, 0), "set length of");
  }

  public void owner(long user, long group) throws ErrnoException {
    check(kernel.call(Syscall.FCHOWN, descriptor, user, group, 0), "change owner of");
  }

  public void permissions(int permissions) throws ErrnoException {
    check(kernel.call(Syscall.FCHMOD, descriptor, permissions, 0, 0), "change mode of");
  }

  public void attribute(String attribute, byte[] value) throws ErrnoException {
    new Attributes(kernel, descriptor, name).set(attribute, value);
  }

  /** All extended attributes by name. */
  public Map<String, byte[]> attributes() throws ErrnoException {
    return new Attributes(kernel, descriptor, name).all();
  }

  public void times(FileTimes times) throws ErrnoException {
    MemorySegment struct = times.write(kernel.struct());
    check(kernel.call(Syscall.UTIMENSAT, descriptor, 0, struct.address(), 0), "set times of");
  }

  /** Takes over the content of another file: shared where the file system can, holes kept. */
  public void copyFrom(OpenFile source, long length) throws ErrnoException {
    if (length == 0 || kernel.call(Syscall.IOCTL, descriptor, FICLONE, source.descriptor, 0) == 0) {
      return;
    }
    length(length);
    for (long at = source.seek(0, SEEK_DATA, length); at < length; ) {
      long end = source.seek(at, SEEK_HOLE, length);
      copyRange(source, at, end);
      at = source.seek(end, SEEK_DATA, length);
    }
  }

  /** Part of a file that holds data; what is between such parts is a hole. */
  public record Range(long offset, long length) {}

  /**
   * The parts of the first {@code length} bytes that hold data, in rising order; whatever comes
   * after so many parts is one more.
   */
  public List<Range> data(long length, int limit) throws ErrnoException {
    List<Range> parts = new ArrayList<>();
    for (long at = seek(0, SEEK_DATA, length); at < length; ) {
      long end = parts.size() < limit ? seek(at, SEEK_HOLE, length) : length;
      parts.add(new Range(at, end - at));
      at = seek(end, SEEK_DATA, length);
    }
    return parts;
  }

  @Override
  public void close() {
    kernel.closeDescriptor(descriptor);
  }

  private void copyRange(OpenFile source, long from, long end) throws ErrnoException {
    MemorySegment buffer = kernel.io();
    for (long at = from; at < end; ) {
      long wanted = Math.min(end - at, KernelCalls.IO_BYTES);
      long got = kernel.call(Syscall.PREAD64, source.descriptor, buffer.address(), wanted, at);
      source.check(got, "read");
      if (got == 0) {
        return;
      }
      writeBuffer(at, got);
      at += got;
    }
  }

  private void writeBuffer(long offset, long length) throws ErrnoException {
    long address = kernel.io().address();
    for (long done = 0; done < length; ) {
      long written =
          kernel.call(Syscall.PWRITE64, descriptor, address + done, length - done, offset + done);
      check(written, "write");
      done += written;
    }
  }

  private long seek(long from, int where, long end) throws ErrnoException {
    if (from >= end) {
      return end;
    }
    long found = kernel.call(Syscall.LSEEK, descriptor, from, where, 0);
    if (found < 0 && kernel.errno() == ENXIO) {
      return end;
    }
    check(found, "seek in");
    return Math.min(found, end);
  }

  private void check(long result, String doing) throws ErrnoException {
    if (result < 0) {
      throw kernel.failure(doing, name);
    }
  }
}
