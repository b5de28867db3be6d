package dev.zlayer.runtime.wasm.wasi;

import java.nio.channels.NonWritableChannelException;
import java.util.Arrays;
import run.endive.runtime.HostFunction;
import run.endive.runtime.Instance;
import run.endive.runtime.Memory;
import run.endive.runtime.WasmFunctionHandle;
import run.endive.runtime.WasmInterruptedException;

/**
 * Stands before every call of a module: keeps it from taking more of the agent than its own memory
 * (buffers, open files), lets an interrupt through, and gives refusals their right number. One per
 * run, used by the module's thread alone.
 */
final class CallGuard {
  /** Enough for any program, few enough that the agent never runs out of descriptors. */
  private static final int MOST_OPEN = 256;

  private static final int IO_ERROR = 29;
  private static final int INVALID = 28;
  private static final int TOO_MANY_OPEN = 33;
  private static final int NO_ENTRY = 44;

  private final Refusal refusal;
  private int open;

  CallGuard(Refusal refusal) {
    this.refusal = refusal;
  }

  HostFunction[] over(HostFunction[] functions) {
    return Arrays.stream(functions).map(this::over).toArray(HostFunction[]::new);
  }

  private HostFunction over(HostFunction function) {
    WasmFunctionHandle handle = function.handle();
    String name = function.name();
    WasmFunctionHandle guarded =
        switch (name) {
          case "fd_read", "fd_pread" -> (instance, args) -> read(handle, instance, args);
          case "path_open" -> (instance, args) -> opened(handle, instance, args);
          case "fd_close" -> (instance, args) -> closed(handle, instance, args);
          default -> (instance, args) -> call(handle, instance, args);
        };
    return new HostFunction(function.module(), name, function.functionType(), guarded);
  }

  private long[] call(WasmFunctionHandle handle, Instance instance, long... args) {
    if (Thread.currentThread().isInterrupted()) {
      throw new WasmInterruptedException("the module was stopped");
    }
    refusal.take();
    long[] result;
    try {
      result = handle.apply(instance, args);
    } catch (NonWritableChannelException _) {
      return new long[] {Refusal.NOT_PERMITTED};
    }
    int refused = refusal.take();
    boolean vague = result != null && result.length == 1 && vague(result[0]);
    return vague && refused != Refusal.NONE ? new long[] {refused} : result;
  }

  private static boolean vague(long number) {
    return number == IO_ERROR || number == NO_ENTRY;
  }

  /** The WASI layer makes a buffer as large as the module says, before it looks at the memory. */
  private long[] read(WasmFunctionHandle handle, Instance instance, long... args) {
    Memory memory = instance.memory();
    long bytes = 0;
    for (int i = 0; i < (int) args[2]; i++) {
      bytes += memory.readInt((int) args[1] + i * 8 + 4) & 0xffffffffL;
      if (bytes > (long) memory.pages() * Memory.PAGE_SIZE) {
        return new long[] {INVALID};
      }
    }
    return call(handle, instance, args);
  }

  private long[] opened(WasmFunctionHandle handle, Instance instance, long... args) {
    if (open >= MOST_OPEN) {
      return new long[] {TOO_MANY_OPEN};
    }
    long[] result = call(handle, instance, args);
    if (result[0] == 0) {
      open++;
    }
    return result;
  }

  private long[] closed(WasmFunctionHandle handle, Instance instance, long... args) {
    long[] result = call(handle, instance, args);
    if (result[0] == 0) {
      open--;
    }
    return result;
  }
}
