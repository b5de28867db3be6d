package dev.zlayer.host.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** How soon the kernel lets a process run among others that could. */
public final class Scheduling {
  private static final int SCHED_OTHER = 0;
  private static final int SCHED_FIFO = 1;
  private static final int SCHED_RESET_ON_FORK = 0x40000000;
  private static final MethodHandle SET =
      Libc.bind("sched_setscheduler", Libc.INT, Libc.INT, Libc.INT, Libc.POINTER);

  private Scheduling() {}

  /**
   * Lets a process run before all usual ones whenever it can; its children are usual ones. False
   * where that is not permitted.
   */
  public static boolean first(long pid) {
    return set(pid, SCHED_FIFO, 1);
  }

  /** Takes back {@link #first}. */
  public static boolean usual(long pid) {
    return set(pid, SCHED_OTHER, 0);
  }

  private static boolean set(long pid, int policy, int priority) {
    try (var call = Libc.call()) {
      MemorySegment parameter = call.allocate(Integer.BYTES);
      parameter.set(ValueLayout.JAVA_INT, 0, priority);
      return (int) SET.invokeExact(call.errno(), (int) pid, policy | SCHED_RESET_ON_FORK, parameter)
          == 0;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }
}
