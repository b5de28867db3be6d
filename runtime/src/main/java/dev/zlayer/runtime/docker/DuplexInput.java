package dev.zlayer.runtime.docker;

import dev.zlayer.host.http.Duplex;
import java.io.IOException;
import java.io.OutputStream;

/** What a process reads: closing it says that no more comes, and leaves its output open. */
final class DuplexInput extends OutputStream {
  private final Duplex connection;
  private boolean closed;

  private DuplexInput(Duplex connection, boolean closed) {
    this.connection = connection;
    this.closed = closed;
  }

  /** Closed from the start when the process has no input. */
  static OutputStream of(Duplex connection, boolean open) {
    return new DuplexInput(connection, !open);
  }

  @Override
  public void write(int b) throws IOException {
    write(new byte[] {(byte) b}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    if (closed) {
      throw new IOException("the input is closed");
    }
    connection.output().write(bytes, offset, length);
  }

  @Override
  public void close() throws IOException {
    if (!closed) {
      closed = true;
      connection.closeOutput();
    }
  }
}
