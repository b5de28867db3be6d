package dev.zlayer.runtime.wasm.module;

import java.util.function.Function;
import run.endive.runtime.Instance;
import run.endive.runtime.Machine;
import run.endive.wasm.WasmModule;
import run.endive.wasm.types.AnnotatedInstruction;
import run.endive.wasm.types.CodeSection;

/**
 * A module that can be run any number of times. Its heap belongs to the budget of all modules until
 * the last user has released it.
 */
public final class Program {
  /** Per value and per open block of a function that is interpreted. */
  private static final int FRAME_VALUE_BYTES = 24;

  private static final int FRAME_BLOCK_BYTES = 40;
  private static final int FRAME_BYTES = 512;

  private final WasmModule module;
  private final Function<Instance, Machine> machines;
  private final MemoryBudget budget;
  private final long bytes;
  private final long runBytes;
  private final long frameBytes;
  private int users = 1;

  /**
   * @param bytes taken from the budget already
   */
  Program(
      WasmModule module,
      Function<Instance, Machine> machines,
      MemoryBudget budget,
      long bytes,
      long runBytes) {
    this.module = module;
    this.machines = machines;
    this.budget = budget;
    this.bytes = bytes;
    this.runBytes = runBytes;
    this.frameBytes = frameBytes(module);
  }

  public WasmModule module() {
    return module;
  }

  /** Makes what executes an instance. */
  public Function<Instance, Machine> machines() {
    return machines;
  }

  /** Heap that every run needs beside its memories and tables. */
  public long runBytes() {
    return runBytes;
  }

  /** Heap for one call of its largest function when that is interpreted. */
  public long frameBytes() {
    return frameBytes;
  }

  /** One more user; false when the last one has released it already. */
  synchronized boolean retain() {
    if (users == 0) {
      return false;
    }
    users++;
    return true;
  }

  /** Whether there is one user only, which is whoever asks. */
  synchronized boolean idle() {
    return users == 1;
  }

  /** To be called once by every user. */
  public synchronized void release() {
    if (--users == 0) {
      budget.release(bytes);
    }
  }

  private static long frameBytes(WasmModule module) {
    long most = 0;
    CodeSection code = module.codeSection();
    for (int i = 0; i < code.functionBodyCount(); i++) {
      var body = code.getFunctionBody(i);
      int depth =
          body.instructions().stream().mapToInt(AnnotatedInstruction::depth).max().orElse(0);
      most =
          Math.max(
              most,
              (long) body.localTypes().size() * FRAME_VALUE_BYTES
                  + (long) depth * FRAME_BLOCK_BYTES);
    }
    return most + FRAME_BYTES;
  }
}
