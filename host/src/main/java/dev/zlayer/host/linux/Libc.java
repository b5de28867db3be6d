package dev.zlayer.host.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.List;

/**
 * Binds functions of the C library; {@link Call#check(int, String)} turns a failed call into an
 * {@link ErrnoException}.
 *
 * <pre>{@code
 * private static final Libc.Function UMOUNT2 = Libc.bind("umount2");
 * ...
 * try (var call = Libc.call()) {
 *   call.check(UMOUNT2.call(call, call.string(path).address(), flags), "umount " + path);
 * }
 * }</pre>
 */
@SuppressWarnings("restricted") // this is the one place for native calls
final class Libc {
  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout CAPTURE = Linker.Option.captureStateLayout();
  private static final long ERRNO_AT =
      CAPTURE.byteOffset(MemoryLayout.PathElement.groupElement("errno"));

  /** So many does {@code syscall} take, and nothing that is called here takes more. */
  private static final int ARGUMENTS = 7;

  private static final MethodHandle CALL = handle();

  private Libc() {}

  /** The function of this name, which has to be there. */
  static Function bind(String function) {
    return new Function(LINKER.defaultLookup().findOrThrow(function));
  }

  /**
   * {@code (address, errno, seven numbers) -> number}: one way to call them all. Java spins a dozen
   * classes for each signature at its first use, which was a third of a daemon's start when every
   * function had its own. On both machines that we run on, numbers and pointers go to registers one
   * by one, whoever is called takes from them what it declares, narrowed to the width that it
   * declares, and what is too many stays unread; variadic functions take theirs from there, too.
   */
  private static MethodHandle handle() {
    var arguments = new MemoryLayout[ARGUMENTS];
    Arrays.fill(arguments, ValueLayout.JAVA_LONG);
    return LINKER.downcallHandle(
        FunctionDescriptor.of(ValueLayout.JAVA_LONG, arguments),
        Linker.Option.captureCallState("errno"));
  }

  /** A C function of numbers and pointers, neither of them floating nor structures. */
  record Function(MemorySegment address) {
    /** For one that returns {@code int}: only that much of the result means anything. */
    int call(Call call, long... arguments) {
      return (int) callLong(call, arguments);
    }

    /** For one that returns {@code long} or {@code ssize_t}. */
    long callLong(Call call, long... arguments) {
      long[] all = Arrays.copyOf(arguments, ARGUMENTS);
      return invoke(call.errno(), all[0], all[1], all[2], all[3], all[4], all[5], all[6]);
    }

    long invoke(MemorySegment errno, long a, long b, long c, long d, long e, long f, long g) {
      try {
        return (long) CALL.invokeExact(address, errno, a, b, c, d, e, f, g);
      } catch (Throwable thrown) {
        // in the signature of handles only: a C function cannot
        throw new IllegalStateException("a native call threw", thrown);
      }
    }
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
      return errno.get(ValueLayout.JAVA_INT, ERRNO_AT);
    }

    MemorySegment string(String text) {
      return arena.allocateFrom(text);
    }

    /** Pointers to the texts and a null pointer after them. */
    MemorySegment strings(List<String> texts) {
      MemorySegment pointers = arena.allocate(ValueLayout.ADDRESS, texts.size() + 1L);
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
}
