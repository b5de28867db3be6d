package dev.zlayer.image.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.host.linux.codec.IsalInflater;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.zip.DataFormatException;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** With the engine of the JDK, and with the faster one where it is installed. */
class GzipInputTest {
  static Stream<Supplier<GzipInput.Engine>> engines() {
    Supplier<GzipInput.Engine> java = Decompression.JavaEngine::new;
    Supplier<GzipInput.Engine> isal =
        () -> new Decompression.IsalEngine(IsalInflater.open().orElseThrow());
    return IsalInflater.open().isPresent() ? Stream.of(java, isal) : Stream.of(java);
  }

  @ParameterizedTest
  @MethodSource("engines")
  void readsAnyNumberOfMembersInPiecesOfAnySize(Supplier<GzipInput.Engine> engine)
      throws Exception {
    for (long seed = 0; seed < 30; seed++) {
      var random = new Random(seed);
      var packed = new ByteArrayOutputStream();
      var plain = new ByteArrayOutputStream();
      for (int member = 0; member <= random.nextInt(5); member++) {
        byte[] part = new byte[random.nextInt(200_000)];
        random.nextBytes(part);
        Arrays.fill(part, 0, part.length / 2, (byte) 'x');
        plain.writeBytes(part);
        packed.writeBytes(gzip(part));
      }
      packed.writeBytes(new byte[random.nextInt(3)]);
      try (var in = new GzipInput(pieces(packed.toByteArray(), random), engine.get())) {
        assertThat(in.readAllBytes()).as("seed %d", seed).isEqualTo(plain.toByteArray());
      }
    }
  }

  @ParameterizedTest
  @MethodSource("engines")
  void tellsWhatIsBroken(Supplier<GzipInput.Engine> engine) throws Exception {
    byte[] good = gzip(new byte[50_000]);
    byte[] badSum = good.clone();
    badSum[good.length - 6] ^= 1;
    byte[] garbage = Arrays.copyOf(good, good.length + 5);
    garbage[good.length + 4] = 'g';
    for (byte[] bad :
        new byte[][] {
          Arrays.copyOf(good, 30), Arrays.copyOf(good, good.length - 1), badSum, garbage
        }) {
      assertThatThrownBy(
              () -> {
                try (var in = new GzipInput(new ByteArrayInputStream(bad), engine.get())) {
                  in.readAllBytes();
                }
              })
          .isInstanceOf(IOException.class)
          .hasMessageContaining("gzip");
    }
  }

  /** Each member of twenty bytes is one for the engine, and not one and all that follows it. */
  @ParameterizedTest
  @MethodSource("engines")
  void veryManyEmptyMembersAreReadOnceAndWithoutRecursion(Supplier<GzipInput.Engine> engine)
      throws Exception {
    byte[] empty = gzip(new byte[0]);
    byte[] last = gzip(new byte[] {'e', 'n', 'd'});
    int members = 500_000;
    byte[] packed = new byte[members * empty.length + last.length];
    for (int i = 0; i < members; i++) {
      System.arraycopy(empty, 0, packed, i * empty.length, empty.length);
    }
    System.arraycopy(last, 0, packed, members * empty.length, last.length);
    var counting = new CountingEngine(engine.get());
    try (var in = new GzipInput(new ByteArrayInputStream(packed), counting)) {
      assertThat(in.readAllBytes()).asString().isEqualTo("end");
    }
    assertThat(counting.given).isLessThan(packed.length * 60L);
  }

  private static final class CountingEngine implements GzipInput.Engine {
    private final GzipInput.Engine engine;
    private long given;

    CountingEngine(GzipInput.Engine engine) {
      this.engine = engine;
    }

    @Override
    public void input(byte[] data, int from, int length) {
      given += length;
      engine.input(data, from, length);
    }

    @Override
    public int inflate(byte[] out, int from, int length) throws DataFormatException {
      return engine.inflate(out, from, length);
    }

    @Override
    public boolean finished() {
      return engine.finished();
    }

    @Override
    public int remaining() {
      return engine.remaining();
    }

    @Override
    public void reset() {
      engine.reset();
    }

    @Override
    public void close() {
      engine.close();
    }
  }

  private static byte[] gzip(byte[] plain) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(bytes)) {
      gzip.write(plain);
    }
    return bytes.toByteArray();
  }

  /** Gives few bytes at a time and says that nothing is available. */
  private static InputStream pieces(byte[] bytes, Random random) {
    return new ByteArrayInputStream(bytes) {
      @Override
      public synchronized int read(byte[] out, int from, int length) {
        return super.read(out, from, Math.min(length, 1 + random.nextInt(9_000)));
      }

      @Override
      public synchronized int available() {
        return 0;
      }
    };
  }
}
