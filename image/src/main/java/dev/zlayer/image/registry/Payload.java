package dev.zlayer.image.registry;

import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/** The body of a request; opened anew for each try. */
final class Payload {
  static final Payload NONE = of(new byte[0]);

  private static final int SMALL = 64 << 10;

  /** Opens the bytes from their start. */
  @FunctionalInterface
  interface Source {
    InputStream open() throws IOException;
  }

  private final Source source;
  private final long length;
  private final LongConsumer progress;
  private final AtomicLong sent = new AtomicLong();

  /**
   * @param progress gets the number of bytes handed to the connection so far
   */
  Payload(Source source, long length, LongConsumer progress) {
    this.source = source;
    this.length = length;
    this.progress = progress;
  }

  static Payload of(byte[] bytes) {
    return new Payload(() -> new ByteArrayInputStream(bytes), bytes.length, _ -> {});
  }

  static Payload of(String form) {
    return of(form.getBytes(StandardCharsets.UTF_8));
  }

  boolean small() {
    return length <= SMALL;
  }

  long sent() {
    return sent.get();
  }

  HttpRequest.BodyPublisher publisher() {
    return length == 0
        ? HttpRequest.BodyPublishers.noBody()
        : HttpRequest.BodyPublishers.fromPublisher(
            HttpRequest.BodyPublishers.ofInputStream(this::open), length);
  }

  private InputStream open() {
    try {
      sent.set(0);
      return new Counted(source.open());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private final class Counted extends FilterInputStream {
    Counted(InputStream in) {
      super(in);
    }

    @Override
    public int read() throws IOException {
      int next = super.read();
      count(next < 0 ? 0 : 1);
      return next;
    }

    @Override
    public int read(byte[] bytes, int offset, int count) throws IOException {
      int read = super.read(bytes, offset, count);
      count(Math.max(0, read));
      return read;
    }

    private void count(int bytes) {
      progress.accept(sent.addAndGet(bytes));
    }
  }
}
