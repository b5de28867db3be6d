package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.WebSocketFrames;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import org.jspecify.annotations.Nullable;

/**
 * A conversation over a WebSocket, for pages and libraries that cannot take over a connection. Each
 * frame carries bytes of the process as they are; the thread of the conversation ends with it.
 */
public final class AttachSocket implements Session.Listener, AutoCloseable {
  private static final int INPUT = 64 << 10;
  private static final int NORMAL = 1000;

  private final ApiResponse.Conversation conversation;
  private final PipedInputStream input = new PipedInputStream(INPUT);
  private final PipedOutputStream typed = new PipedOutputStream();
  private final AtomicReference<@Nullable Thread> thread = new AtomicReference<>();
  private volatile @Nullable Session socket;

  AttachSocket(ApiResponse.Conversation conversation) {
    this.conversation = conversation;
  }

  @Override
  public void onWebSocketOpen(Session session) {
    socket = session;
    try {
      typed.connect(input);
    } catch (IOException _) {
      conversation.abandon();
      session.disconnect();
      return;
    }
    Thread runner = Thread.ofVirtual().name("attach-ws").unstarted(() -> run(session));
    thread.set(runner);
    runner.start();
    session.demand();
  }

  private void run(Session session) {
    try {
      conversation.run(input, output(session));
      new WebSocketFrames(session).end(NORMAL);
    } catch (IOException | InterruptedException | RuntimeException _) {
      session.disconnect(); // the client disconnected, or the process cannot be followed
    }
  }

  private static OutputStream output(Session session) {
    var frames = new WebSocketFrames(session);
    return new OutputStream() {
      @Override
      public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
      }

      @Override
      public void write(byte[] bytes, int offset, int length) throws IOException {
        try {
          frames.binary(ByteBuffer.wrap(Arrays.copyOfRange(bytes, offset, offset + length)));
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new IOException("interrupted", e);
        }
      }
    };
  }

  @Override
  public void onWebSocketBinary(ByteBuffer payload, Callback callback) {
    var bytes = new byte[payload.remaining()];
    payload.get(bytes);
    type(bytes);
    callback.succeed();
    demand();
  }

  @Override
  public void onWebSocketText(String message) {
    type(message.getBytes(java.nio.charset.StandardCharsets.UTF_8));
    demand();
  }

  private void type(byte[] bytes) {
    try {
      typed.write(bytes);
      typed.flush();
    } catch (IOException _) {
      // the process reads no more; that it ended is told in its own time
    }
  }

  private void demand() {
    Session session = socket;
    if (session != null) {
      new WebSocketFrames(session).demand();
    }
  }

  @Override
  public void onWebSocketClose(int code, String reason, Callback callback) {
    close();
    callback.succeed();
  }

  @Override
  public void onWebSocketError(Throwable cause) {
    close();
  }

  /** Ends the conversation; the container goes on. */
  @Override
  public void close() {
    Thread runner = thread.getAndSet(null);
    if (runner != null) {
      runner.interrupt();
    }
  }
}
