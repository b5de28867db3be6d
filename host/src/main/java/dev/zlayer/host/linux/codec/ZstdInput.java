package dev.zlayer.host.linux.codec;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/** Decompresses zstd, any number of frames, with the system's library. Owned by one thread. */
@SuppressWarnings("restricted") // native calls are made in this package only
public final class ZstdInput extends InputStream {
  private static final int BUFFER = 128 * 1024;
  private static final int POSITION = 16; // in { pointer, size, position }

  private record Functions(
      MethodHandle create,
      MethodHandle free,
      MethodHandle decompress,
      MethodHandle failed,
      MethodHandle errorName) {}

  private static final class Library {
    static final Optional<Functions> FUNCTIONS =
        NativeLibrary.find("libzstd.so.1").map(Library::bind);

    static Functions bind(NativeLibrary zstd) {
      var pointer = NativeLibrary.POINTER;
      return new Functions(
          zstd.bind("ZSTD_createDStream", pointer),
          zstd.bind("ZSTD_freeDStream", NativeLibrary.LONG, pointer),
          zstd.bind("ZSTD_decompressStream", NativeLibrary.LONG, pointer, pointer, pointer),
          zstd.bind("ZSTD_isError", NativeLibrary.INT, NativeLibrary.LONG),
          zstd.bind("ZSTD_getErrorName", pointer, NativeLibrary.LONG));
    }
  }

  private final InputStream in;
  private final Functions functions;
  private final Arena arena = Arena.ofConfined();
  private final MemorySegment source = arena.allocate(BUFFER);
  private final MemorySegment target = arena.allocate(BUFFER);
  private final MemorySegment sourceBuffer = arena.allocate(24, 8);
  private final MemorySegment targetBuffer = arena.allocate(24, 8);
  private final byte[] bytes = new byte[BUFFER];
  private final MemorySegment stream;
  private long taken;
  private long frameLeft;
  private boolean inputEnded;

  private ZstdInput(InputStream in, Functions functions) {
    this.in = in;
    this.functions = functions;
    try {
      this.stream = (MemorySegment) functions.create.invokeExact();
    } catch (Throwable thrown) {
      throw NativeLibrary.impossible(thrown);
    }
    sourceBuffer.set(ValueLayout.ADDRESS, 0, source);
    targetBuffer.set(ValueLayout.ADDRESS, 0, target);
  }

  /** Empty when the library is not installed. */
  public static Optional<InputStream> open(InputStream in) {
    return Library.FUNCTIONS.map(functions -> new ZstdInput(in, functions));
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] out, int from, int wanted) throws IOException {
    if (wanted == 0) {
      return 0;
    }
    long ready = targetBuffer.get(ValueLayout.JAVA_LONG, POSITION);
    while (taken == ready) {
      if (!fill()) {
        return -1;
      }
      ready = targetBuffer.get(ValueLayout.JAVA_LONG, POSITION);
    }
    int part = (int) Math.min(wanted, ready - taken);
    MemorySegment.copy(target, ValueLayout.JAVA_BYTE, taken, out, from, part);
    taken += part;
    return part;
  }

  @Override
  public void close() throws IOException {
    if (arena.scope().isAlive()) {
      try {
        long ignored = (long) functions.free.invokeExact(stream);
      } catch (Throwable thrown) {
        throw NativeLibrary.impossible(thrown);
      }
      arena.close();
    }
    in.close();
  }

  /** One step of decompression; false at the end. */
  private boolean fill() throws IOException {
    boolean used =
        sourceBuffer.get(ValueLayout.JAVA_LONG, POSITION)
            == sourceBuffer.get(ValueLayout.JAVA_LONG, 8);
    if (used && !inputEnded) {
      int got = Math.max(0, in.read(bytes, 0, BUFFER));
      inputEnded = got == 0;
      MemorySegment.copy(bytes, 0, source, ValueLayout.JAVA_BYTE, 0, got);
      sourceBuffer.set(ValueLayout.JAVA_LONG, 8, got);
      sourceBuffer.set(ValueLayout.JAVA_LONG, POSITION, 0);
    }
    if (used && inputEnded && frameLeft == 0) {
      return false;
    }
    taken = 0;
    targetBuffer.set(ValueLayout.JAVA_LONG, 8, BUFFER);
    targetBuffer.set(ValueLayout.JAVA_LONG, POSITION, 0);
    frameLeft = decompress();
    if (used && inputEnded && targetBuffer.get(ValueLayout.JAVA_LONG, POSITION) == 0) {
      throw new EOFException("the zstd stream is cut short");
    }
    return true;
  }

  private long decompress() throws IOException {
    try {
      long result = (long) functions.decompress.invokeExact(stream, targetBuffer, sourceBuffer);
      if ((int) functions.failed.invokeExact(result) == 0) {
        return result;
      }
      var name = (MemorySegment) functions.errorName.invokeExact(result);
      throw new IOException("the zstd stream is broken: " + name.reinterpret(256).getString(0));
    } catch (IOException | RuntimeException e) {
      throw e;
    } catch (Throwable thrown) {
      throw NativeLibrary.impossible(thrown);
    }
  }
}
