package dev.zlayer.engine.s3;

import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;

/**
 * The content of an object. A connection that breaks is taken up where it broke, as long as the
 * object is the same. The last bytes are handed out only when the checksum of the whole is right.
 */
final class Download extends InputStream {
  private static final int BREAKS = 5;

  private final S3Store store;
  private final String key;
  private final HeadObjectResponse object;
  private final Integrity integrity;
  private Optional<InputStream> source = Optional.empty();
  private long position;
  private int breaks;

  Download(S3Store store, String key, HeadObjectResponse object) {
    this.store = store;
    this.key = key;
    this.object = object;
    this.integrity = Integrity.of(object);
  }

  boolean checked() {
    return integrity.checked();
  }

  @Override
  public int read() throws IOException {
    var one = new byte[1];
    int length = read(one, 0, 1);
    return length < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int from, int length) throws IOException {
    while (position < size()) {
      int wanted = (int) Math.min(length, size() - position);
      int got = attempt(bytes, from, wanted);
      if (got > 0) {
        position += got;
        integrity.update(bytes, from, got);
        if (position == size() && !integrity.holds()) {
          throw failed("what was read is not what was stored: the checksum differs");
        }
        return got;
      }
    }
    return -1;
  }

  @Override
  public void close() {
    source.ifPresent(Download::drop);
    source = Optional.empty();
  }

  /** Nothing read means that the connection broke and there is another to try. */
  private int attempt(byte[] bytes, int from, int length) throws IOException {
    try {
      if (source.isEmpty()) {
        source = Optional.of(store.read(key, position, object.eTag()));
      }
      int got = source.get().read(bytes, from, length);
      if (got >= 0) {
        return got;
      }
      broken("it ended too early", null);
    } catch (IOException | SdkException e) {
      broken(String.valueOf(e.getMessage()), e);
    }
    return 0;
  }

  private void broken(String reason, @org.jspecify.annotations.Nullable Exception cause)
      throws IOException {
    close();
    if (++breaks > BREAKS || Thread.currentThread().isInterrupted()) {
      throw new IOException(
          "s3://%s/%s broke off at byte %d: %s".formatted(store.bucket(), key, position, reason),
          cause);
    }
  }

  private IOException failed(String reason) {
    return new IOException("s3://%s/%s: %s".formatted(store.bucket(), key, reason));
  }

  private long size() {
    return object.contentLength();
  }

  private static void drop(InputStream stream) {
    try {
      if (stream instanceof software.amazon.awssdk.http.Abortable abortable) {
        abortable.abort(); // closing would read the rest
      }
      stream.close();
    } catch (IOException _) {
      // it is not needed any more
    }
  }
}
