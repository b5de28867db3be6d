package dev.zlayer.image.layer;

import dev.zlayer.host.linux.codec.IsalInflater;
import dev.zlayer.host.linux.codec.ZstdInput;
import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackInputStream;
import java.util.HexFormat;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/** Tells by the first bytes how a blob is compressed, whatever its media type says. */
public final class Decompression {
  private static final int MAGIC = 6;

  private Decompression() {}

  public static InputStream open(InputStream blob) throws IOException {
    var in = new PushbackInputStream(blob, MAGIC);
    byte[] magic = in.readNBytes(MAGIC);
    in.unread(magic);
    String hex = HexFormat.of().formatHex(magic);
    if (hex.startsWith("1f8b")) {
      return new GzipInput(
          in,
          IsalInflater.open().<GzipInput.Engine>map(IsalEngine::new).orElseGet(JavaEngine::new));
    }
    if (hex.startsWith("28b52ffd") || hex.matches("5[0-9a-f]2a4d18.*")) {
      return zstd(in);
    }
    if (hex.startsWith("fd377a585a00") || hex.startsWith("425a68")) {
      throw new LayerException(
          "the layer is compressed with %s: only gzip, zstd and none are supported"
              .formatted(hex.startsWith("fd") ? "xz" : "bzip2"),
          null);
    }
    return in;
  }

  private static InputStream zstd(InputStream in) throws LayerException {
    return ZstdInput.open(in)
        .orElseThrow(
            () ->
                new LayerException(
                    "the layer is compressed with zstd and libzstd.so.1 is not installed:"
                        + " install the package libzstd1",
                    null));
  }

  /** Faster, where it is installed. */
  record IsalEngine(IsalInflater inflater) implements GzipInput.Engine {
    @Override
    public void input(byte[] data, int from, int length) {
      inflater.input(data, from, length);
    }

    @Override
    public int inflate(byte[] out, int from, int length) throws DataFormatException {
      return inflater.inflate(out, from, length);
    }

    @Override
    public boolean finished() {
      return inflater.finished();
    }

    @Override
    public int remaining() {
      return inflater.remaining();
    }

    @Override
    public void reset() {
      inflater.reset();
    }

    @Override
    public void close() {
      inflater.close();
    }
  }

  /** What every JDK has. */
  static final class JavaEngine implements GzipInput.Engine {
    private final Inflater inflater = new Inflater(true);

    @Override
    public void input(byte[] data, int from, int length) {
      inflater.setInput(data, from, length);
    }

    @Override
    public int inflate(byte[] out, int from, int length) throws DataFormatException {
      int got = inflater.inflate(out, from, length);
      if (got == 0 && inflater.needsDictionary()) {
        throw new DataFormatException("needs a dictionary");
      }
      return got;
    }

    @Override
    public boolean finished() {
      return inflater.finished();
    }

    @Override
    public int remaining() {
      return inflater.getRemaining();
    }

    @Override
    public void reset() {
      inflater.reset();
    }

    @Override
    public void close() {
      inflater.end();
    }
  }
}
