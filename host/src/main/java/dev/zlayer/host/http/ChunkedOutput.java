package dev.zlayer.host.http;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** Sends what is written as chunks; tells a peer that went away from a source that failed. */
final class ChunkedOutput extends OutputStream {
  private static final byte[] LINE_END = {'\r', '\n'};
  private final OutputStream out;

  ChunkedOutput(OutputStream out) {
    this.out = out;
  }

  /** The server does not take any more. */
  static final class PeerGone extends IOException {
    PeerGone(IOException cause) {
      super(cause);
    }
  }

  @Override
  public void write(int b) throws IOException {
    write(new byte[] {(byte) b}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    if (length == 0) {
      return;
    }
    var chunk = new ByteArrayOutputStream(length + 16);
    chunk.writeBytes(Integer.toHexString(length).getBytes(StandardCharsets.ISO_8859_1));
    chunk.writeBytes(LINE_END);
    chunk.write(bytes, offset, length);
    chunk.writeBytes(LINE_END);
    send(chunk.toByteArray());
  }

  void finish() throws IOException {
    send("0\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
  }

  private void send(byte[] bytes) throws IOException {
    try {
      out.write(bytes);
    } catch (java.nio.channels.ClosedChannelException e) {
      throw e;
    } catch (IOException e) {
      throw new PeerGone(e);
    }
  }
}
