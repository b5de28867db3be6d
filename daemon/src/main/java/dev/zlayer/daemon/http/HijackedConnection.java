package dev.zlayer.daemon.http;

import dev.zlayer.task.Pauses;
import dev.zlayer.task.Reply;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;

/**
 * A connection that speaks HTTP no more: after the head of the answer it carries bytes in both
 * directions. That the caller ends its direction does not end the other one.
 */
final class HijackedConnection implements AutoCloseable {
  private static final int BUFFER = 16 << 10;

  /** How soon a client is noticed that left without a word; nobody waits for it. */
  private static final Duration HANG_UP_CHECK = Duration.ofSeconds(1);

  private final EndPoint endPoint;
  private final ByteBuffer early;
  private volatile boolean reading;
  private volatile boolean inputEnded;

  private HijackedConnection(EndPoint endPoint, Optional<ByteBuffer> early) {
    this.endPoint = endPoint;
    this.early = early.orElse(BufferUtil.EMPTY_BUFFER);
  }

  /** Takes the connection of a request whose body was read; what the caller sent early is kept. */
  static HijackedConnection take(Request request) {
    Connection connection = request.getConnectionMetaData().getConnection();
    Optional<ByteBuffer> early =
        connection instanceof Connection.UpgradeFrom from
            ? Optional.ofNullable(from.onUpgradeFrom())
            : Optional.empty();
    EndPoint endPoint = connection.getEndPoint();
    endPoint.setIdleTimeout(0);
    return new HijackedConnection(endPoint, early);
  }

  /** Whether the caller asks for another protocol, so that proxies between know of it. */
  static boolean upgrades(Request request) {
    return request.getHeaders().contains("Upgrade");
  }

  /** What the connection is then said to speak. */
  private static String protocol(Request request) {
    return "h2c".equals(request.getHeaders().get("Upgrade")) ? "h2c" : "tcp";
  }

  /** Writes the head of the answer. */
  void begin(boolean upgrade, String type, Response response) throws IOException {
    response.setStatus(upgrade ? 101 : 200);
    var head = new StringBuilder();
    head.append(upgrade ? "HTTP/1.1 101 UPGRADED\r\n" : "HTTP/1.1 200 OK\r\n");
    Map<String, String> headers = new LinkedHashMap<>();
    response.getHeaders().forEach(field -> headers.put(field.getName(), field.getValue()));
    headers.put("Content-Type", type);
    if (upgrade) {
      headers.put("Connection", "Upgrade");
      headers.put("Upgrade", protocol(response.getRequest()));
    } else {
      headers.put("Connection", "close");
    }
    headers.forEach((name, value) -> head.append(name).append(": ").append(value).append("\r\n"));
    write(ByteBuffer.wrap(head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1)));
  }

  /** Writes the head of an answer that another node gave. */
  void begin(Map<String, String> headers) throws IOException {
    var head = new StringBuilder("HTTP/1.1 101 Switching Protocols\r\n");
    headers.forEach((name, value) -> head.append(name).append(": ").append(value).append("\r\n"));
    write(ByteBuffer.wrap(head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1)));
  }

  /** What the caller sends until it ends its direction. */
  InputStream input() {
    return new InputStream() {
      @Override
      public int read() throws IOException {
        var one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
      }

      @Override
      public int read(byte[] bytes, int offset, int length) throws IOException {
        reading = true;
        if (early.hasRemaining()) {
          int count = Math.min(length, early.remaining());
          early.get(bytes, offset, count);
          return count;
        }
        ByteBuffer buffer = BufferUtil.allocate(Math.min(length, BUFFER));
        while (true) {
          int count = endPoint.fill(buffer);
          if (count != 0) {
            inputEnded = count < 0;
            if (count > 0) {
              buffer.get(bytes, offset, count);
            }
            return count;
          }
          var ready = new Reply<Boolean>();
          endPoint.fillInterested(told(ready));
          await(ready);
        }
      }
    };
  }

  /** What the caller reads; each write is sent at once. */
  OutputStream output() {
    return new OutputStream() {
      @Override
      public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
      }

      @Override
      public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
        HijackedConnection.this.write(ByteBuffer.wrap(bytes, offset, length));
      }
    };
  }

  /**
   * Interrupts a thread when the caller has closed both directions, which is seen by neither
   * reading nor, as long as there is nothing to say, by writing. What it sent before is read first.
   */
  boolean awaitHangUp(Thread worker) throws IOException, InterruptedException {
    if (!(endPoint.getTransport() instanceof SocketChannel channel)) {
      return false;
    }
    while (!hungUp(channel) || (reading && !inputEnded)) {
      Pauses.REAL.pause(HANG_UP_CHECK);
    }
    worker.interrupt();
    return true;
  }

  /** A connection that is made is never ready to be made, unless it is broken. */
  private static boolean hungUp(SocketChannel channel) throws IOException {
    try (Selector selector = channel.provider().openSelector()) {
      channel.register(selector, SelectionKey.OP_CONNECT);
      return selector.selectNow() > 0;
    } catch (ClosedChannelException _) {
      return true;
    }
  }

  private void write(ByteBuffer bytes) throws IOException {
    var written = new Reply<Boolean>();
    endPoint.write(told(written), bytes);
    await(written);
  }

  private static Callback told(Reply<Boolean> reply) {
    return Callback.from(
        () -> reply.complete(true), failure -> reply.fail(new IllegalStateException(failure)));
  }

  private static void await(Reply<Boolean> reply) throws IOException {
    try {
      boolean _ = reply.await();
    } catch (IllegalStateException e) {
      throw new IOException("the client disconnected", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("interrupted").initCause(e);
    }
  }

  @Override
  public void close() {
    endPoint.close();
  }
}
