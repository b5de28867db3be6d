package dev.zlayer.host.http;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * A connection taken over from HTTP: bytes both ways, at the same time from two threads. Closing
 * ends both, also for a thread that waits.
 */
public final class Duplex implements AutoCloseable {
  private final HttpConnection wire;

  Duplex(HttpConnection wire) {
    this.wire = wire;
  }

  public InputStream input() {
    return wire.in();
  }

  public OutputStream output() {
    return wire.out();
  }

  /** Says that nothing more will be sent; reading goes on. */
  public void closeOutput() throws IOException {
    wire.closeOutput();
  }

  @Override
  public void close() {
    wire.close();
  }
}
