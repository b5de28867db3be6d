package dev.zlayer.runtime.oci.exec;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;

/** From one thread to another, through the kernel so that either end can be closed at any time. */
public final class BytePipe {
  private final Pipe pipe;
  private final InputStream input;

  public BytePipe() throws IOException {
    this.pipe = Pipe.open();
    this.input = Channels.newInputStream(pipe.source());
  }

  public InputStream input() {
    return input;
  }

  public void write(byte[] bytes, int offset, int length) throws IOException {
    ByteBuffer buffer = ByteBuffer.wrap(bytes, offset, length);
    while (buffer.hasRemaining()) {
      pipe.sink().write(buffer);
    }
  }

  /** Ends both sides. */
  public void close() {
    end();
    try {
      input.close();
    } catch (IOException _) {
      // it is closed either way
    }
  }

  public void end() {
    try {
      pipe.sink().close();
    } catch (IOException _) {
      // the reader sees the end either way
    }
  }
}
