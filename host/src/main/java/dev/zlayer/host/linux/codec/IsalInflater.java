package dev.zlayer.host.linux.codec;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;

/**
 * Inflates raw deflate data with Intel's library where it is installed (package libisal2), about
 * twice as fast as the JDK. The library has no accessor for the end of a stream, so a field of its
 * structure is read; a trial at first use proves that it is where we think. Owned by one thread.
 */
@SuppressWarnings("restricted") // native calls are made in this package only
public final class IsalInflater implements AutoCloseable {
  private static final int BUFFER = 128 * 1024;
  private static final int STATE_BYTES = 256 * 1024; // three times what the library needs

  // struct inflate_state
  private static final long NEXT_OUT = 0;
  private static final long AVAIL_OUT = 8;
  private static final long NEXT_IN = 16;
  private static final long AVAIL_IN = 32;
  private static final long READ_IN_BITS = 36;
  private static final long BLOCK_STATE = 21160;
  private static final int BLOCK_FINISH = 5;

  private record Functions(MethodHandle init, MethodHandle inflate) {}

  private static final class Library {
    static final Optional<Functions> FUNCTIONS =
        NativeLibrary.find("libisal.so.2")
            .map(
                isal ->
                    new Functions(
                        isal.bindVoid("isal_inflate_init", NativeLibrary.POINTER),
                        isal.bind("isal_inflate", NativeLibrary.INT, NativeLibrary.POINTER)))
            .filter(IsalInflater::works);
  }

  private final Functions functions;
  private final Arena arena = Arena.ofConfined();
  private final MemorySegment state = arena.allocate(STATE_BYTES, 64);
  private final MemorySegment source = arena.allocate(BUFFER);
  private final MemorySegment target = arena.allocate(BUFFER);
  private boolean finished;

  private IsalInflater(Functions functions) {
    this.functions = functions;
    reset();
  }

  /** Empty when the library is not installed or not as we know it. */
  public static Optional<IsalInflater> open() {
    return Library.FUNCTIONS.map(IsalInflater::new);
  }

  /** Takes input, at most 128 KiB, once what was given before is used up. */
  public void input(byte[] data, int from, int length) {
    MemorySegment.copy(data, from, source, ValueLayout.JAVA_BYTE, 0, length);
    state.set(ValueLayout.ADDRESS, NEXT_IN, source);
    state.set(ValueLayout.JAVA_INT, AVAIL_IN, length);
  }

  /** How many bytes came out; 0 when input is needed or the end is reached. */
  public int inflate(byte[] out, int from, int length) throws DataFormatException {
    if (finished) {
      return 0;
    }
    int room = Math.min(length, BUFFER);
    state.set(ValueLayout.ADDRESS, NEXT_OUT, target);
    state.set(ValueLayout.JAVA_INT, AVAIL_OUT, room);
    int result = step();
    if (result < 0) {
      throw new DataFormatException("not deflate data (" + result + ")");
    }
    int got = room - state.get(ValueLayout.JAVA_INT, AVAIL_OUT);
    MemorySegment.copy(target, ValueLayout.JAVA_BYTE, 0, out, from, got);
    finished = state.get(ValueLayout.JAVA_INT, BLOCK_STATE) == BLOCK_FINISH;
    return got;
  }

  public boolean finished() {
    return finished;
  }

  /** How much of the input was not used. */
  public int remaining() {
    return state.get(ValueLayout.JAVA_INT, AVAIL_IN)
        + state.get(ValueLayout.JAVA_INT, READ_IN_BITS) / 8;
  }

  /** Begins a new stream and drops the input. */
  public void reset() {
    finished = false;
    state.set(ValueLayout.JAVA_INT, AVAIL_IN, 0);
    try {
      functions.init.invokeExact(state);
    } catch (Throwable thrown) {
      throw NativeLibrary.impossible(thrown);
    }
  }

  @Override
  public void close() {
    if (arena.scope().isAlive()) {
      arena.close();
    }
  }

  private int step() {
    try {
      return (int) functions.inflate.invokeExact(state);
    } catch (Throwable thrown) {
      throw NativeLibrary.impossible(thrown);
    }
  }

  /** Whether known data comes out right and the end is found to the byte. */
  private static boolean works(Functions functions) {
    byte[] plain = new byte[100_000];
    new Random(1).nextBytes(plain);
    Arrays.fill(plain, 20_000, 70_000, (byte) 'z');
    byte[] packed = new byte[200_000];
    var deflater = new Deflater(Deflater.DEFAULT_COMPRESSION, true);
    deflater.setInput(plain);
    deflater.finish();
    int length = deflater.deflate(packed);
    deflater.end();
    try (var inflater = new IsalInflater(functions)) {
      byte[] out = new byte[plain.length + 1];
      int done = 0;
      for (int at = 0; at < length + 100; at += 7_000) {
        inflater.input(packed, at, Math.min(7_000, length + 100 - at));
        int got = inflater.inflate(out, done, 3_000);
        while (got > 0) {
          done += got;
          got = inflater.inflate(out, done, Math.min(3_000, out.length - done));
        }
      }
      boolean same = Arrays.equals(plain, 0, plain.length, out, 0, done);
      return same && inflater.finished() && inflater.remaining() == 100;
    } catch (DataFormatException | RuntimeException _) {
      return false;
    }
  }
}
