package dev.zlayer.daemon.docker;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;

/**
 * Output of a process as clients read it: with a terminal as it comes, else in frames, each with a
 * head of eight bytes that names the stream and the length. Safe from several threads.
 */
final class MultiplexedStream {
  static final int STDOUT = 1;
  static final int STDERR = 2;
  static final String RAW = "application/vnd.docker.raw-stream";
  static final String FRAMES = "application/vnd.docker.multiplexed-stream";

  private static final int HEAD = 8;

  private final OutputStream out;
  private final boolean raw;

  MultiplexedStream(OutputStream out, boolean raw) {
    this.out = out;
    this.raw = raw;
  }

  static String type(boolean raw) {
    return raw ? RAW : FRAMES;
  }

  synchronized void write(int stream, byte[] bytes, int length) throws IOException {
    if (length == 0) {
      return;
    }
    if (raw) {
      out.write(bytes, 0, length);
      return;
    }
    out.write(
        ByteBuffer.allocate(HEAD + length)
            .put((byte) stream)
            .put(new byte[3])
            .putInt(length)
            .put(bytes, 0, length)
            .array());
  }

  synchronized void flush() throws IOException {
    out.flush();
  }
}
