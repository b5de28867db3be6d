package dev.zlayer.host.linux;

import dev.zlayer.task.Backoff;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Owns a file descriptor that the Java library has no class for. The kernel gives the number of a
 * closed descriptor to the next file that anybody opens, so the number is only lent for a call:
 * after {@link #close} every use fails with EBADF, and a descriptor that is being used is closed by
 * its last user. Who wants a blocked user to leave first ends what it waits for.
 *
 * <p>Reading blocks the operating system's thread, so it belongs on a thread of its own; so does
 * writing, but after {@link #pauseWriters}.
 */
public final class OwnedDescriptor implements AutoCloseable {
  private static final Libc.Function CLOSE = Libc.bind("close");
  private static final Libc.Function READ = Libc.bind("read");
  private static final Libc.Function WRITE = Libc.bind("write");

  private static final Libc.Function POLL = Libc.bind("poll");

  private static final int POLLFD_BYTES = 8;
  private static final short POLLIN = 1;
  private static final int F_GETFL = 3;
  private static final int F_SETFL = 4;
  private static final int O_NONBLOCK = 0x800;
  private static final Backoff PAUSES =
      new Backoff(Duration.ofMillis(1), Duration.ofMillis(100), 2);

  private static final int CLOSED = 1 << 31;

  private final int number;

  /** How many use it now, and whether it is closed. */
  private final AtomicInteger users = new AtomicInteger();

  private final Use use = new Use();

  OwnedDescriptor(int number) {
    this.number = number;
  }

  /** The number, valid until this is closed. */
  final class Use implements AutoCloseable {
    int number() {
      return number;
    }

    @Override
    public void close() {
      if (users.decrementAndGet() == CLOSED) {
        closeNow();
      }
    }
  }

  /** Keeps it open meanwhile; fails with EBADF when it is closed. */
  Use use() throws ErrnoException {
    int before;
    do {
      before = users.get();
      if ((before & CLOSED) != 0) {
        throw new ErrnoException("use a descriptor", ErrnoException.EBADF);
      }
    } while (!users.compareAndSet(before, before + 1));
    return use;
  }

  /** How many bytes came; 0 at the end. */
  public int read(byte[] bytes) throws IOException {
    try (var using = use();
        var call = Libc.call();
        var arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocate(bytes.length);
      long count;
      do {
        count = READ.callLong(call, using.number(), buffer.address(), bytes.length);
        if (count < 0 && call.errnoValue() == ErrnoException.EAGAIN) {
          awaitInput(using.number());
        }
      } while (count < 0
          && (call.errnoValue() == ErrnoException.EINTR
              || call.errnoValue() == ErrnoException.EAGAIN));
      call.check(count, "read");
      MemorySegment.copy(buffer, ValueLayout.JAVA_BYTE, 0, bytes, 0, (int) count);
      return (int) count;
    }
  }

  /** How many bytes came, 0 at the end, -1 when there are none now; after {@link #neverBlock}. */
  int readSome(byte[] bytes, int offset, int length) throws IOException {
    try (var using = use();
        var call = Libc.call();
        var arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocate(length);
      long count;
      do {
        count = READ.callLong(call, using.number(), buffer.address(), length);
      } while (count < 0 && call.errnoValue() == ErrnoException.EINTR);
      if (count < 0 && call.errnoValue() == ErrnoException.EAGAIN) {
        return -1;
      }
      call.check(count, "read");
      MemorySegment.copy(buffer, ValueLayout.JAVA_BYTE, 0, bytes, offset, (int) count);
      return (int) count;
    }
  }

  /** Until there is something to read, or the end. */
  private static void awaitInput(int number) {
    try (var call = Libc.call()) {
      MemorySegment entry = call.allocate(POLLFD_BYTES);
      entry.set(ValueLayout.JAVA_INT, 0, number);
      entry.set(ValueLayout.JAVA_SHORT, Integer.BYTES, POLLIN);
      int ignored = POLL.call(call, entry.address(), 1, -1);
      assert ignored <= 1;
    }
  }

  /**
   * From now on a writer that has to wait for the reader pauses here and not in the kernel, where a
   * virtual thread would keep its carrier from all others. For what is not shared with another
   * process.
   */
  public void pauseWriters() throws IOException {
    neverBlock();
  }

  /** From now on calls of the kernel return when they would have to wait. */
  void neverBlock() throws IOException {
    try (var using = use();
        var kernel = new KernelCalls()) {
      long flags = kernel.call(Syscall.FCNTL, using.number(), F_GETFL, 0, 0);
      if (flags < 0
          || kernel.call(Syscall.FCNTL, using.number(), F_SETFL, flags | O_NONBLOCK, 0) < 0) {
        throw kernel.failure("change", "descriptor " + using.number());
      }
    }
  }

  /** Writes all of it. */
  public void write(byte[] bytes, int offset, int length) throws IOException {
    int done = 0;
    for (int waits = 0; done < length; ) {
      int count = writeSome(bytes, offset + done, length - done);
      done += count;
      if (count == 0) {
        pause(PAUSES.delay(waits++));
      } else {
        waits = 0;
      }
    }
  }

  private static void pause(Duration time) throws IOException {
    try {
      Pauses.REAL.pause(time);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while writing", e);
    }
  }

  /** 0 when the reader has to read first. */
  int writeSome(byte[] bytes, int offset, int length) throws IOException {
    try (var using = use();
        var call = Libc.call();
        var arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocate(Math.max(1, length));
      MemorySegment.copy(bytes, offset, buffer, ValueLayout.JAVA_BYTE, 0, length);
      long count;
      do {
        count = WRITE.callLong(call, using.number(), buffer.address(), length);
      } while (count < 0 && call.errnoValue() == ErrnoException.EINTR);
      if (count < 0 && call.errnoValue() == ErrnoException.EAGAIN) {
        return 0;
      }
      return (int) call.check(count, "write");
    }
  }

  @Override
  public void close() {
    int before;
    do {
      before = users.get();
      if ((before & CLOSED) != 0) {
        return;
      }
    } while (!users.compareAndSet(before, before | CLOSED));
    if (before == 0) {
      closeNow();
    }
  }

  private void closeNow() {
    try (var call = Libc.call()) {
      int ignored = CLOSE.call(call, number);
      assert ignored <= 0;
    }
  }
}
