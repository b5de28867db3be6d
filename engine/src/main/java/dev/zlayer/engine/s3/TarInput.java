package dev.zlayer.engine.s3;

import dev.zlayer.tar.TarMember;
import dev.zlayer.tar.TarWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Iterator;
import java.util.Optional;
import java.util.function.Supplier;

/** An archive that comes into being while it is read. */
final class TarInput extends InputStream {
  /** A file or directory; the content is opened when its turn comes. */
  record Piece(TarMember member, Supplier<InputStream> content) {}

  private static final int CHUNK = 64 << 10;

  private final Iterator<Piece> pieces;
  private final ByteArrayOutputStream made = new ByteArrayOutputStream(2 * CHUNK);
  private final TarWriter tar = new TarWriter(made);
  private final byte[] chunk = new byte[CHUNK];
  private Optional<InputStream> content = Optional.empty();
  private byte[] ready = new byte[0];
  private int at;
  private boolean finished;

  TarInput(Iterator<Piece> pieces) {
    this.pieces = pieces;
  }

  @Override
  public int read() throws IOException {
    var one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int from, int length) throws IOException {
    while (at == ready.length) {
      if (finished) {
        return -1;
      }
      advance();
      ready = made.toByteArray();
      made.reset();
      at = 0;
    }
    int count = Math.min(length, ready.length - at);
    System.arraycopy(ready, at, bytes, from, count);
    at += count;
    return count;
  }

  @Override
  public void close() throws IOException {
    if (content.isPresent()) {
      content.get().close();
      content = Optional.empty();
    }
  }

  private void advance() throws IOException {
    if (content.isPresent()) {
      int count = content.get().read(chunk);
      if (count < 0) {
        close();
      } else {
        tar.content(chunk, 0, count);
      }
    } else if (pieces.hasNext()) {
      Piece piece = pieces.next();
      tar.begin(piece.member());
      content = Optional.of(piece.content().get());
    } else {
      tar.finish();
      finished = true;
    }
  }
}
