package dev.zlayer.image.layer;

import dev.zlayer.oci.Digest;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The uncompressed bytes of a blob. A task of the given scope decompresses ahead into a few
 * buffers; the reading thread computes the digest and takes the bytes out. Whoever reads owns it.
 */
final class BlobStream extends InputStream {
  private static final int CHUNK = 128 * 1024;
  private static final int AHEAD = 8;
  private static final long RATIO_FREE = 64L << 20;

  /** Zstd writes 128 KiB of one byte as four: honest zeros come close to what the format allows. */
  private static final long ANY_EXPANSION = Long.MAX_VALUE;

  /** Bytes, or the end when there are none, for the reason of {@code failure} if there is one. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Chunk(byte[] bytes, int length, @Nullable IOException failure) {}

  private final BlockingQueue<Chunk> full = new ArrayBlockingQueue<>(AHEAD + 1);
  private final BlockingQueue<byte[]> free = new ArrayBlockingQueue<>(AHEAD);
  private final LayerLimits limits;
  private final MessageDigest digest;
  private Chunk current = new Chunk(new byte[0], 0, null);
  private int position;
  private boolean ended;

  private BlobStream(LayerLimits limits, Digest like) {
    this.limits = limits;
    try {
      this.digest = MessageDigest.getInstance(like.javaAlgorithm());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has " + like.javaAlgorithm(), e);
    }
    for (int i = 0; i < AHEAD; i++) {
      free.add(new byte[CHUNK]);
    }
  }

  /** Starts decompressing; {@code like} tells which digest to compute. */
  static BlobStream start(
      TaskScope scope, InputStream blob, Digest like, LayerLimits limits, LongConsumer progress) {
    var stream = new BlobStream(limits, like);
    scope.fork(
        () -> {
          stream.decompress(new Counting(blob, progress));
          return true;
        });
    return stream;
  }

  /** Reads what is left and gives the digest of everything. */
  Digest finish(Digest like) throws IOException {
    while (!ended) {
      position = current.length();
      advance();
    }
    return new Digest(like.algorithm(), HexFormat.of().formatHex(digest.digest()));
  }

  @Override
  public int read() throws IOException {
    return advance() ? current.bytes()[position++] & 0xff : -1;
  }

  @Override
  public int read(byte[] out, int from, int wanted) throws IOException {
    if (wanted == 0) {
      return 0;
    }
    if (!advance()) {
      return -1;
    }
    int part = Math.min(wanted, current.length() - position);
    System.arraycopy(current.bytes(), position, out, from, part);
    position += part;
    return part;
  }

  @Override
  public long skip(long count) throws IOException {
    long left = count;
    while (left > 0 && advance()) {
      int part = (int) Math.min(left, current.length() - position);
      position += part;
      left -= part;
    }
    return count - left;
  }

  /** Makes sure that there are bytes; false at the end. */
  private boolean advance() throws IOException {
    if (position < current.length()) {
      return true;
    }
    if (ended) {
      return false;
    }
    try {
      if (current.bytes().length > 0) {
        free.put(current.bytes());
      }
      current = full.take();
    } catch (InterruptedException _) {
      // unpacking looks at the flag and stops
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("unpacking was interrupted");
    }
    position = 0;
    if (current.length() == 0) {
      ended = true;
      if (current.failure() != null) {
        throw current.failure();
      }
      return false;
    }
    digest.update(current.bytes(), 0, current.length());
    return true;
  }

  private void decompress(Counting blob) throws InterruptedException {
    Chunk end = failed(new IOException("decompression ended early"));
    try (InputStream in = Decompression.open(blob)) {
      long produced = 0;
      long expansion = in instanceof GzipInput ? limits.expansion() : ANY_EXPANSION;
      while (true) {
        byte[] chunk = free.take();
        int length = in.readNBytes(chunk, 0, CHUNK);
        if (length == 0) {
          break;
        }
        produced += length;
        check(produced, blob.count, expansion);
        full.put(new Chunk(chunk, length, null));
      }
      end = new Chunk(new byte[0], 0, null);
    } catch (IOException e) {
      end = failed(e);
    } catch (RuntimeException e) {
      end = failed(new IOException("decompression failed: " + e.getMessage(), e));
    } finally {
      full.put(end); // whatever happened: the reader waits for it
    }
  }

  private static Chunk failed(IOException failure) {
    return new Chunk(new byte[0], 0, failure);
  }

  private void check(long produced, long consumed, long expansion) throws LayerException {
    if (produced > limits.bytes()) {
      throw new LayerException(
          "the layer has more than %d bytes uncompressed".formatted(limits.bytes()), null);
    }
    if (produced > RATIO_FREE && produced / expansion > consumed) {
      throw new LayerException(
          "the layer grows to more than %d times its compressed size".formatted(expansion), null);
    }
  }

  /** Counts what is read of the blob, and leaves closing it to whoever opened it. */
  private static final class Counting extends InputStream {
    private final InputStream blob;
    private final LongConsumer progress;
    private long count;

    Counting(InputStream blob, LongConsumer progress) {
      this.blob = blob;
      this.progress = progress;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] out, int from, int wanted) throws IOException {
      int got = blob.read(out, from, wanted);
      if (got > 0) {
        count += got;
        progress.accept(count);
      }
      return got;
    }
  }
}
