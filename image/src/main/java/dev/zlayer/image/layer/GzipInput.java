package dev.zlayer.image.layer;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;

/**
 * Reads gzip, any number of members in a row. The JDK's own stream takes an {@code available()} of
 * zero between members for the end, which a stream from elsewhere may say at any time.
 */
final class GzipInput extends InputStream {
  /** The inflating part, as {@link java.util.zip.Inflater} has it. */
  interface Engine {
    void input(byte[] data, int from, int length);

    /** How many bytes came out; 0 when input is needed or the member has ended. */
    int inflate(byte[] out, int from, int length) throws DataFormatException;

    boolean finished();

    /** How much of the input was not used. */
    int remaining();

    void reset();

    void close();
  }

  /**
   * What an engine is first given of a member. It may copy its input, so the whole buffer for each
   * of very many short members would be read a thousand times as often as it is long.
   */
  private static final int FIRST_INPUT = 512;

  private static final int HEADER_CRC = 2;
  private static final int EXTRA = 4;
  private static final int NAME = 8;
  private static final int COMMENT = 16;

  private final InputStream in;
  private final Engine engine;
  private final CRC32 crc = new CRC32();
  private final byte[] input = new byte[64 * 1024];
  private int position;
  private int limit;
  private long length;
  private boolean begun;
  private boolean inMember;
  private boolean ended;

  GzipInput(InputStream in, Engine engine) {
    this.in = in;
    this.engine = engine;
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
    while (!ended) {
      if (!inMember && !nextMember()) {
        break;
      }
      int got = inflate(out, from, wanted);
      if (got > 0) {
        crc.update(out, from, got);
        length += got;
        return got;
      }
      if (engine.finished()) {
        endMember();
      }
    }
    return -1;
  }

  @Override
  public void close() throws IOException {
    engine.close();
    in.close();
  }

  private int inflate(byte[] out, int from, int wanted) throws IOException {
    try {
      int got = engine.inflate(out, from, wanted);
      if (got == 0 && !engine.finished()) {
        if (position == limit && !fill()) {
          throw new EOFException("the gzip stream is cut short");
        }
        give(limit - position);
      }
      return got;
    } catch (DataFormatException e) {
      throw new IOException("the gzip stream is broken: " + e.getMessage(), e);
    }
  }

  private void give(int count) {
    engine.input(input, position, count);
    position += count;
  }

  /** False at the end; zero bytes may pad it. */
  private boolean nextMember() throws IOException {
    int first = begun ? skipZeros() : next();
    if (first < 0) {
      ended = true;
      return false;
    }
    if (first != 0x1f || required() != 0x8b || required() != 8) {
      throw new IOException("the gzip stream is followed by something else");
    }
    int flags = required();
    skip(6);
    if ((flags & EXTRA) != 0) {
      skip(required() | required() << 8);
    }
    if ((flags & NAME) != 0) {
      skipText();
    }
    if ((flags & COMMENT) != 0) {
      skipText();
    }
    if ((flags & HEADER_CRC) != 0) {
      skip(2);
    }
    crc.reset();
    length = 0;
    begun = true;
    inMember = true;
    engine.reset();
    give(Math.min(FIRST_INPUT, limit - position));
    return true;
  }

  private void endMember() throws IOException {
    position -= engine.remaining();
    inMember = false;
    if (number() != crc.getValue() || number() != (length & 0xFFFF_FFFFL)) {
      throw new IOException("the gzip stream is broken: checksum or length does not fit");
    }
  }

  private long number() throws IOException {
    return required() | required() << 8 | required() << 16 | (long) required() << 24;
  }

  private int skipZeros() throws IOException {
    int next = next();
    while (next == 0) {
      next = next();
    }
    return next;
  }

  private void skip(int count) throws IOException {
    for (int i = 0; i < count; i++) {
      required();
    }
  }

  private void skipText() throws IOException {
    while (required() != 0) {
      // up to the zero byte
    }
  }

  private int required() throws IOException {
    int next = next();
    if (next < 0) {
      throw new EOFException("the gzip stream is cut short");
    }
    return next;
  }

  private int next() throws IOException {
    return position < limit || fill() ? input[position++] & 0xff : -1;
  }

  private boolean fill() throws IOException {
    position = 0;
    limit = Math.max(0, in.read(input, 0, input.length));
    return limit > 0;
  }
}
