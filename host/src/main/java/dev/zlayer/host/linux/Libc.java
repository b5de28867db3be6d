package dev.zlayer.host.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.List;

/**
 * Binds functions of the C library. A bound handle takes the place for errno as its first argument;
 * {@link Call#check(int, String)} turns a failed call into an {@link ErrnoException}.
 *
 * <pre>{@code
 * private static final MethodHandle UMOUNT2 = Libc.bind("umount2", INT, POINTER, INT);
 * ...
 * try (var call = Libc.call()) {
 *   call.check((int) UMOUNT2.invokeExact(call.errno(), call.string(path), flags), "umount " + path);
 * }
 * }</pre>
 */
@SuppressWarnings("restricted") // this is the one place for native calls
final class Libc {
  static final MemoryLayout INT = ValueLayout.JAVA_INT;
  static final MemoryLayout LONG = ValueLayout.JAVA_LONG;
  static final MemoryLayout POINTER = ValueLayout.ADDRESS;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout CAPTURE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      CAPTURE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  private Libc() {}

  /** A handle {@code (errno, arguments...) -> result}. */
  static MethodHandle bind(String function, MemoryLayout result, MemoryLayout... arguments) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(function),
        FunctionDescriptor.of(result, arguments),
        Linker.Option.captureCallState("errno"));
  }

  /**
   * A handle for a C function whose arguments from {@code fixed} on are variadic, such as {@code
   * syscall} or {@code open}.
   */
  static MethodHandle bindVariadic(
      String function, int fixed, MemoryLayout result, MemoryLayout... arguments) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(function),
        FunctionDescriptor.of(result, arguments),
        Linker.Option.captureCallState("errno"),
        Linker.Option.firstVariadicArg(fixed));
  }

  /** Whether this C library has the function; some came late, or only to some libraries. */
  static boolean has(String function) {
    return LINKER.defaultLookup().find(function).isPresent();
  }

  static Call call() {
    return new Call();
  }

  /** The memory of one native call. */
  static final class Call implements AutoCloseable {
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment errno = arena.allocate(CAPTURE);

    MemorySegment errno() {
      return errno;
    }

    int errnoValue() {
      return (int) ERRNO.get(errno, 0L);
    }

    MemorySegment string(String text) {
      return arena.allocateFrom(text);
    }

    /** Pointers to the texts and a null pointer after them. */
    MemorySegment strings(List<String> texts) {
      MemorySegment pointers = arena.allocate(POINTER, texts.size() + 1L);
      for (int i = 0; i < texts.size(); i++) {
        pointers.setAtIndex(ValueLayout.ADDRESS, i, string(texts.get(i)));
      }
      return pointers;
    }

    MemorySegment allocate(MemoryLayout layout) {
      return arena.allocate(layout);
    }

    MemorySegment allocate(long bytes) {
      return arena.allocate(bytes, 8);
    }

    /** Passes a result that is not negative on; throws for -1. */
    int check(int result, String doing) throws ErrnoException {
      if (result < 0) {
        throw new ErrnoException(doing, errnoValue());
      }
      return result;
    }

    long check(long result, String doing) throws ErrnoException {
      if (result < 0) {
        throw new ErrnoException(doing, errnoValue());
      }
      return result;
    }

    @Override
    public void close() {
      arena.close();
    }
  }

  /** Handles throw Throwable in their signature only; a bound C function cannot. */
  static RuntimeException impossible(Throwable thrown) {
    return new IllegalStateException("a native call threw", thrown);
  }
}
