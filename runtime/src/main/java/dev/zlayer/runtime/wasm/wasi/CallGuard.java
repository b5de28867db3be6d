package dev.zlayer.runtime.wasm.wasi;

import java.nio.channels.NonWritableChannelException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
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

  /** More than any kernel takes for a path. */
  private static final int LONGEST_PATH = 64 << 10;

  private static final int MOST_SUBSCRIPTIONS = 4096;

  /** Where calls have the length of a path: the first one, and the second if there are two. */
  private static final Map<String, List<Integer>> PATH_LENGTHS =
      Map.of(
          "path_create_directory", List.of(2),
          "path_filestat_get", List.of(3),
          "path_filestat_set_times", List.of(3),
          "path_link", List.of(3, 6),
          "path_open", List.of(3),
          "path_readlink", List.of(2),
          "path_remove_directory", List.of(2),
          "path_rename", List.of(2, 5),
          "path_symlink", List.of(1, 4),
          "path_unlink_file", List.of(2));

  private static final int IO_ERROR = 29;
  private static final int INVALID = 28;
  private static final int TOO_MANY_OPEN = 33;
  private static final int NO_ENTRY = 44;
  private static final int NO_MEMORY = 48;
  private static final int NAME_TOO_LONG = 37;

  private final Refusal refusal;
  private final Guest.Buffers buffers;
  private int open;

  CallGuard(Refusal refusal, Guest.Buffers buffers) {
    this.refusal = refusal;
    this.buffers = buffers;
  }

  HostFunction[] over(HostFunction[] functions) {
    return Arrays.stream(functions).map(this::over).toArray(HostFunction[]::new);
  }

  private HostFunction over(HostFunction function) {
    WasmFunctionHandle handle = function.handle();
    String name = function.name();
    WasmFunctionHandle guarded =
        switch (name) {
          case "fd_read", "fd_pread", "fd_write", "fd_pwrite" ->
              (instance, args) -> buffered(handle, instance, args);
          case "poll_oneoff" -> (instance, args) -> polled(handle, instance, args);
          case "path_open" -> (instance, args) -> opened(handle, instance, args);
          case "fd_close" -> (instance, args) -> closed(handle, instance, args);
          default -> (instance, args) -> call(handle, instance, args);
        };
    List<Integer> lengths = PATH_LENGTHS.getOrDefault(name, List.of());
    WasmFunctionHandle bounded =
        lengths.isEmpty()
            ? guarded
            : (instance, args) ->
                lengths.stream().anyMatch(at -> (args[at] & 0xffffffffL) > LONGEST_PATH)
                    ? new long[] {NAME_TOO_LONG}
                    : guarded.apply(instance, args);
    return new HostFunction(function.module(), name, function.functionType(), bounded);
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

  /**
   * The WASI layer makes a buffer as large as the module says, before it looks at the memory; one
   * at a time, and the host another one for its own call.
   */
  private long[] buffered(WasmFunctionHandle handle, Instance instance, long... args) {
    Memory memory = instance.memory();
    long size = (long) memory.pages() * Memory.PAGE_SIZE;
    long largest = 0;
    for (int i = 0; i < (int) args[2]; i++) {
      long bytes = memory.readInt((int) args[1] + i * 8 + 4) & 0xffffffffL;
      if (bytes > size) {
        return new long[] {INVALID};
      }
      largest = Math.max(largest, bytes);
    }
    if (!buffers.borrow(2 * largest)) {
      return new long[] {NO_MEMORY};
    }
    try {
      return call(handle, instance, args);
    } finally {
      buffers.giveBack(2 * largest);
    }
  }

  private long[] polled(WasmFunctionHandle handle, Instance instance, long... args) {
    return (args[2] & 0xffffffffL) > MOST_SUBSCRIPTIONS
        ? new long[] {INVALID}
        : call(handle, instance, args);
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
