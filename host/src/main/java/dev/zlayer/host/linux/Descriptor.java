package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A file descriptor that the Java library has no class for. Reading and writing block the operating
 * system's thread, so they belong on a thread of their own.
 */
public final class Descriptor implements AutoCloseable {
  private static final MethodHandle CLOSE = Libc.bind("close", Libc.INT, Libc.INT);
  private static final MethodHandle READ =
      Libc.bind("read", Libc.LONG, Libc.INT, Libc.POINTER, Libc.LONG);
  private static final MethodHandle WRITE =
      Libc.bind("write", Libc.LONG, Libc.INT, Libc.POINTER, Libc.LONG);

  private final int number;
  private final AtomicBoolean closed = new AtomicBoolean();

  Descriptor(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }

  /** How many bytes came; 0 at the end. */
  public int read(byte[] bytes) throws IOException {
    try (var call = Libc.call();
        var arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocate(bytes.length);
      long count;
      do {
        count = (long) READ.invokeExact(call.errno(), number, buffer, (long) bytes.length);
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
    try (var call = Libc.call();
        var arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocate(Math.max(1, length));
      MemorySegment.copy(bytes, offset, buffer, ValueLayout.JAVA_BYTE, 0, length);
      long done = 0;
      while (done < length) {
        long count =
            (long) WRITE.invokeExact(call.errno(), number, buffer.asSlice(done), length - done);
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
    if (closed.compareAndSet(false, true)) {
      try (var call = Libc.call()) {
        int ignored = (int) CLOSE.invokeExact(call.errno(), number);
        assert ignored <= 0;
      } catch (Throwable e) {
        throw Libc.impossible(e);
      }
    }
  }
}
