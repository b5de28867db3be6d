package dev.zlayer.host.http;

import java.io.IOException;
import java.io.InputStream;
import java.util.function.Consumer;

/** A body as a stream that hands its connection back at the end, once. */
final class ResponseStream extends InputStream {
  private final HttpConnection wire;
  private final HttpBody body;
  private final ExpiryLoop expiry;
  private final Consumer<HttpConnection> giveBack;
  private volatile boolean done;

  ResponseStream(
      HttpConnection wire, HttpBody body, ExpiryLoop expiry, Consumer<HttpConnection> giveBack) {
    this.wire = wire;
    this.body = body;
    this.expiry = expiry;
    this.giveBack = giveBack;
    if (body.complete()) {
      finish();
    }
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (done) {
      return readAfterEnd();
    }
    try {
      int count = body.read(bytes, offset, length);
      expiry.heard();
      if (count < 0 || body.complete()) {
        finish();
      }
      return count;
    } catch (IOException e) {
      close();
      throw expiry.fired() ? new HttpFailure.Expired(expiry.deadline().limit()) : e;
    }
  }

  private int readAfterEnd() throws IOException {
    if (expiry.fired()) {
      throw new HttpFailure.Expired(expiry.deadline().limit());
    }
    return -1;
  }

  /** Reached the end, or gives up: a connection inside a body cannot be used again. */
  @Override
  public void close() {
    if (!done) {
      finish();
    }
  }

  private synchronized void finish() {
    if (done) {
      return;
    }
    done = true;
    if (expiry.end() && body.complete()) {
      giveBack.accept(wire);
    } else {
      wire.close();
    }
  }
}
