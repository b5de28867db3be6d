package dev.zlayer.host.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.OptionalInt;

/**
 * A descriptor that stands for one process, also after its number was given to another one. Becomes
 * readable when the process has ended.
 */
public final class PidFd implements AutoCloseable {
  /** struct pidfd_info of 64 bytes: a mask of what is asked and told, ..., the exit code. */
  private static final long GET_INFO = 0xC040FF0BL;

  private static final long INFO_EXIT = 1 << 3;
  private static final long EXIT_CODE_AT = 60;

  private final OwnedDescriptor descriptor;

  private PidFd(OwnedDescriptor descriptor) {
    this.descriptor = descriptor;
  }

  /** Throws with {@link ErrnoException#ESRCH} when there is no such process. */
  public static PidFd open(long pid) throws ErrnoException {
    try (var call = Libc.call()) {
      long fd =
          call.check(Syscall.PIDFD_OPEN.invoke(call.errno(), pid, 0, 0, 0, 0, 0), "process " + pid);
      return new PidFd(new OwnedDescriptor((int) fd));
    }
  }

  public void signal(int number) throws ErrnoException {
    try (var using = descriptor.use();
        var call = Libc.call()) {
      call.check(
          Syscall.PIDFD_SEND_SIGNAL.invoke(call.errno(), using.number(), number, 0, 0, 0, 0),
          "signal " + number);
    }
  }

  /**
   * How the process ended, as {@code wait} tells it to a parent, although we are none. Nothing
   * while it runs, and nothing on kernels before 6.15, which do not keep it.
   */
  public OptionalInt waitStatus() {
    try (var using = descriptor.use();
        var kernel = new KernelCalls()) {
      MemorySegment info = kernel.struct();
      info.set(ValueLayout.JAVA_LONG, 0, INFO_EXIT);
      long result = kernel.call(Syscall.IOCTL, using.number(), GET_INFO, info.address(), 0);
      boolean told = result >= 0 && (info.get(ValueLayout.JAVA_LONG, 0) & INFO_EXIT) != 0;
      return told
          ? OptionalInt.of(info.get(ValueLayout.JAVA_INT, EXIT_CODE_AT))
          : OptionalInt.empty();
    } catch (ErrnoException _) {
      return OptionalInt.empty(); // closed
    }
  }

  OwnedDescriptor descriptor() {
    return descriptor;
  }

  @Override
  public void close() {
    descriptor.close();
  }
}
