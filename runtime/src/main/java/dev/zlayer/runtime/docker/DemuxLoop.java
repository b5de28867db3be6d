package dev.zlayer.runtime.docker;

import dev.zlayer.host.http.Duplex;
import dev.zlayer.runtime.oci.exec.BytePipe;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

/**
 * Takes what comes over one connection apart into two streams, on a thread that ends with the
 * connection. A stream that nobody reads any more is thrown away; one that is not read yet makes
 * the other wait.
 */
final class DemuxLoop {
  private static final int BUFFER = 32 << 10;
  private static final int HEAD = 1 << 10;

  private final Duplex connection;
  private final BytePipe stdout;
  private final BytePipe stderr;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final ByteArrayOutputStream head = new ByteArrayOutputStream();

  private DemuxLoop(Duplex connection) throws IOException {
    this.connection = connection;
    this.stdout = new BytePipe();
    this.stderr = new BytePipe();
  }

  static DemuxLoop start(Duplex connection, boolean terminal) throws IOException {
    var loop = new DemuxLoop(connection);
    Thread.ofVirtual().name("docker-streams").start(() -> loop.run(terminal));
    return loop;
  }

  private void run(boolean terminal) {
    try {
      if (terminal) {
        copyPlain(connection.input());
      } else {
        copyFrames(new DataInputStream(connection.input()));
      }
    } catch (IOException _) {
      // the connection was closed: that is the end
    } finally {
      stdout.end();
      stderr.end();
      ended.countDown();
    }
  }

  private void copyPlain(InputStream in) throws IOException {
    byte[] buffer = new byte[BUFFER];
    for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
      pass(stdout, buffer, count);
    }
  }

  private void copyFrames(DataInputStream in) throws IOException {
    byte[] buffer = new byte[BUFFER];
    for (int stream = in.read(); stream >= 0; stream = in.read()) {
      in.skipNBytes(3);
      long left = Integer.toUnsignedLong(in.readInt());
      while (left > 0) {
        int count = in.read(buffer, 0, (int) Math.min(buffer.length, left));
        if (count < 0) {
          return;
        }
        pass(stream == 2 ? stderr : stdout, buffer, count);
        left -= count;
      }
    }
  }

  private void pass(BytePipe pipe, byte[] bytes, int count) {
    if (head.size() < HEAD) { // only this thread writes
      head.write(bytes, 0, Math.min(count, HEAD - head.size()));
    }
    try {
      pipe.write(bytes, 0, count);
    } catch (IOException _) {
      // its reader has left
    }
  }

  InputStream stdout() {
    return stdout.input();
  }

  InputStream stderr() {
    return stderr.input();
  }

  /** The first bytes that came on either stream. */
  String head() {
    return head.toString(StandardCharsets.UTF_8);
  }

  CountDownLatch ended() {
    return ended;
  }

  void close() {
    connection.close();
    try {
      stdout.input().close();
      stderr.input().close();
    } catch (IOException _) {
      // nobody reads any more
    }
  }
}
