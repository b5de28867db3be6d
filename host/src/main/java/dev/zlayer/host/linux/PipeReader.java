package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The process at the other end of a pipe or terminal that this process writes to. */
public final class PipeReader {
  private static final int POLLFD_BYTES = 8;
  private static final Libc.Function POLL = Libc.bind("poll");

  private PipeReader() {}

  /**
   * Blocks until nobody can read what is written to a descriptor of this process; for ever when
   * that cannot happen, as with a file. Cannot be interrupted.
   */
  public static void awaitClosed(int descriptor) throws IOException {
    try (var call = Libc.call()) {
      MemorySegment poll = call.allocate(POLLFD_BYTES);
      poll.set(ValueLayout.JAVA_INT, 0, descriptor); // no events: errors are always reported
      int ready;
      do {
        ready = POLL.call(call, poll.address(), 1, -1);
      } while (ready < 0 && call.errnoValue() == ErrnoException.EINTR);
      call.check(ready, "wait for the reader of descriptor " + descriptor);
    }
  }
}
