package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Owns a file descriptor that the Java library has no class for. The kernel gives the number of a
 * closed descriptor to the next file that anybody opens, so the number is only lent for a call:
 * after {@link #close} every use fails with EBADF, and a descriptor that is being used is closed by
 * its last user. Who wants a blocked user to leave first ends what it waits for.
 *
 * <p>Reading and writing block the operating system's thread, so they belong on a thread of their
 * own.
 */
public final class Descriptor implements AutoCloseable {
  private static final MethodHandle CLOSE = Libc.bind("close", Libc.INT, Libc.INT);
  private static final MethodHandle READ =
      Libc.bind("read", Libc.LONG, Libc.INT, Libc.POINTER, Libc.LONG);
  private static final MethodHandle WRITE =
      Libc.bind("write", Libc.LONG, Libc.INT, Libc.POINTER, Libc.LONG);

  private static final int CLOSED = 1 << 31;

  private final int number;

  /** How many use it now, and whether it is closed. */
  private final AtomicInteger users = new AtomicInteger();

  private final Use use = new Use();

  Descriptor(int number) {
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
        count = (long) READ.invokeExact(call.errno(), using.number(), buffer, (long) bytes.length);
      } while (count < 0 && call.errnoValue() == ErrnoException.EINTR);
      call.check(count, "read");
      MemorySegment.copy(buffer, ValueLayout.JAVA_BYTE, 0, bytes, 0, (int) count);
      return (int) count;
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  /** Writes all of it. */
  public void write(byte[] bytes, int offset, int length) throws IOException {
    try (var using = use();
        var call = Libc.call();
        var arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocate(Math.max(1, length));
      MemorySegment.copy(bytes, offset, buffer, ValueLayout.JAVA_BYTE, 0, length);
      long done = 0;
      while (done < length) {
        long count =
            (long)
                WRITE.invokeExact(
                    call.errno(), using.number(), buffer.asSlice(done), length - done);
        if (count < 0 && call.errnoValue() == ErrnoException.EINTR) {
          continue;
        }
        done += call.check(count, "write");
      }
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
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
      int ignored = (int) CLOSE.invokeExact(call.errno(), number);
      assert ignored <= 0;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }
}
