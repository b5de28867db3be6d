package dev.zlayer.host.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Extended attributes of an inode held by any descriptor. They are reached through the link that
 * the kernel keeps for the descriptor: it is the inode itself, whatever its name has become.
 */
final class Attributes {
  private static final int VALUE_BYTES = 64 * 1024; // the kernel's own bound

  private final KernelCalls kernel;
  private final String link;
  private final String name;

  Attributes(KernelCalls kernel, int descriptor, String name) {
    this.kernel = kernel;
    this.link = "/proc/self/fd/" + descriptor;
    this.name = name;
  }

  void set(String attribute, byte[] value) throws ErrnoException {
    String doing = "set attribute " + KernelCalls.readable(attribute) + " of";
    if (value.length > VALUE_BYTES) {
      throw new ErrnoException(doing + " " + KernelCalls.readable(name), ErrnoException.EOPNOTSUPP);
    }
    MemorySegment buffer = kernel.io();
    MemorySegment.copy(value, 0, buffer, ValueLayout.JAVA_BYTE, 0, value.length);
    long result =
        kernel.call(
            Syscall.SETXATTR,
            kernel.first(link).address(),
            kernel.second(attribute).address(),
            buffer.address(),
            value.length,
            0);
    if (result < 0) {
      throw kernel.failure(doing, name);
    }
  }

  /** Empty when there is none of that name or the file system knows no attributes. */
  Optional<byte[]> find(String attribute) throws ErrnoException {
    MemorySegment buffer = kernel.io();
    long length =
        kernel.call(
            Syscall.GETXATTR,
            kernel.first(link).address(),
            kernel.second(attribute).address(),
            buffer.address(),
            VALUE_BYTES);
    if (length >= 0) {
      return Optional.of(buffer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
    }
    return switch (kernel.errno()) {
      case ErrnoException.ENODATA, ErrnoException.EOPNOTSUPP -> Optional.empty();
      default ->
          throw kernel.failure("read attribute " + KernelCalls.readable(attribute) + " of", name);
    };
  }

  Map<String, byte[]> all() throws ErrnoException {
    Map<String, byte[]> found = new LinkedHashMap<>();
    for (String attribute : names()) {
      find(attribute).ifPresent(value -> found.put(attribute, value));
    }
    return found;
  }

  List<String> names() throws ErrnoException {
    MemorySegment buffer = kernel.io();
    long length =
        kernel.call(
            Syscall.LISTXATTR, kernel.first(link).address(), buffer.address(), VALUE_BYTES, 0);
    if (length < 0) {
      if (kernel.errno() == ErrnoException.EOPNOTSUPP) {
        return List.of();
      }
      throw kernel.failure("list attributes of", name);
    }
    List<String> names = new ArrayList<>();
    long start = 0;
    for (long at = 0; at < length; at++) {
      if (buffer.get(ValueLayout.JAVA_BYTE, at) == 0) {
        names.add(OpenDirectory.text(buffer, start, at - start));
        start = at + 1;
      }
    }
    return names;
  }
}
