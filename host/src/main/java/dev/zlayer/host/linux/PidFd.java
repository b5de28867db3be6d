package dev.zlayer.host.linux;

import java.lang.invoke.MethodHandle;

/**
 * A descriptor that stands for one process, also after its number was given to another one. Becomes
 * readable when the process has ended.
 */
public final class PidFd implements AutoCloseable {
  private static final long SYS_PIDFD_SEND_SIGNAL = 424;
  private static final long SYS_PIDFD_OPEN = 434;
  private static final MethodHandle OPEN =
      Libc.bindVariadic("syscall", 1, Libc.LONG, Libc.LONG, Libc.LONG, Libc.LONG);
  private static final MethodHandle SEND =
      Libc.bindVariadic(
          "syscall", 1, Libc.LONG, Libc.LONG, Libc.LONG, Libc.LONG, Libc.LONG, Libc.LONG);

  private final Descriptor descriptor;

  private PidFd(Descriptor descriptor) {
    this.descriptor = descriptor;
  }

  /** Throws with {@link ErrnoException#ESRCH} when there is no such process. */
  public static PidFd open(long pid) throws ErrnoException {
    try (var call = Libc.call()) {
      long fd =
          call.check(
              (long) OPEN.invokeExact(call.errno(), SYS_PIDFD_OPEN, pid, 0L), "process " + pid);
      return new PidFd(new Descriptor((int) fd));
    } catch (ErrnoException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  public void signal(int number) throws ErrnoException {
    try (var call = Libc.call()) {
      call.check(
          (long)
              SEND.invokeExact(
                  call.errno(),
                  SYS_PIDFD_SEND_SIGNAL,
                  (long) descriptor.number(),
                  (long) number,
                  0L,
                  0L),
          "signal " + number);
    } catch (ErrnoException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  Descriptor descriptor() {
    return descriptor;
  }

  @Override
  public void close() {
    descriptor.close();
  }
}
