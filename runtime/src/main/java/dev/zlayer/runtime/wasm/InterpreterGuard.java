package dev.zlayer.runtime.wasm;

import org.jspecify.annotations.Nullable;
import run.endive.runtime.ExecutionListener;
import run.endive.runtime.InterpreterMachine;
import run.endive.runtime.MStack;
import run.endive.runtime.TrapException;
import run.endive.wasm.types.Instruction;

/**
 * Bounds what functions that are interpreted take of the heap: they have their locals and values
 * there, not on the thread's stack. Asked before every interpreted instruction, on the module's
 * thread; compiled functions never ask.
 */
final class InterpreterGuard implements ExecutionListener {
  private static final int MOST_VALUES = 1 << 18;
  private static final long FRAMES_BYTES = 8L << 20;
  private static final int MOST_FRAMES = 5000;
  private static final int FEWEST_FRAMES = 8;

  /** For frames, and for values while their array grows. */
  private static final long BYTES = FRAMES_BYTES + 3L * MOST_VALUES * Long.BYTES;

  private final MemoryAccount account;
  private final int mostFrames;
  private final int interval;
  private boolean used;
  private int calls;

  /**
   * @param frameBytes of the largest function
   */
  InterpreterGuard(MemoryAccount account, long frameBytes) {
    this.account = account;
    this.mostFrames =
        Math.clamp(FRAMES_BYTES / Math.max(1, frameBytes), FEWEST_FRAMES, MOST_FRAMES);
    this.interval = Math.max(1, mostFrames / 16);
  }

  @Override
  public void onExecution(@Nullable Instruction instruction, MStack stack) {
    if (!used) {
      if (!account.borrow(BYTES)) {
        throw new TrapException("a function is too large to be compiled, " + account.shortage());
      }
      used = true;
    }
    if (stack.size() > MOST_VALUES) {
      throw new TrapException("call stack exhausted: too many values");
    }
    if (instruction != null && calls(instruction) && ++calls % interval == 0 && tooDeep()) {
      throw new TrapException(
          "call stack exhausted: more than %d calls of interpreted functions"
              .formatted(mostFrames));
    }
  }

  private static boolean calls(Instruction instruction) {
    return switch (instruction.opcode()) {
      case CALL, CALL_INDIRECT, CALL_REF -> true;
      default -> false;
    };
  }

  private boolean tooDeep() {
    return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
            .<Long>walk(
                frames ->
                    frames
                        .filter(
                            frame ->
                                frame.getDeclaringClass() == InterpreterMachine.class
                                    && frame.getMethodName().equals("eval"))
                        .limit(mostFrames)
                        .count())
        >= mostFrames;
  }

  /** When the module has ended. */
  void close() {
    if (used) {
      used = false;
      account.giveBack(BYTES);
    }
  }
}
