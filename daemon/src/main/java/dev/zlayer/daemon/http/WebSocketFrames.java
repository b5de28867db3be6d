package dev.zlayer.daemon.http;

import dev.zlayer.task.Reply;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.function.Consumer;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;

/** Sends frames one after the other, whoever sends, and waits until each was taken. */
public record WebSocketFrames(Session session) {
  /** How long a client may take to agree to the end. */
  private static final Duration CLOSING = Duration.ofSeconds(10);

  public void binary(ByteBuffer frame) throws IOException, InterruptedException {
    send(sent -> session.sendBinary(frame, sent));
  }

  public void text(String frame) throws IOException, InterruptedException {
    send(sent -> session.sendText(frame, sent));
  }

  private void send(Consumer<Callback> sending) throws IOException, InterruptedException {
    var sent = new Reply<Boolean>();
    synchronized (session) {
      sending.accept(
          Callback.from(
              () -> sent.complete(true), failure -> sent.fail(new IllegalStateException(failure))));
      try {
        boolean _ = sent.await();
      } catch (IllegalStateException e) {
        throw new IOException("the client disconnected", e);
      }
    }
  }

  /**
   * Asks for the next frame of the client, also when nothing is sent any more: who does not ask
   * never learns that the client has gone, and keeps its connection.
   */
  public void demand() {
    try {
      session.demand();
    } catch (IllegalStateException _) {
      // it has ended in both directions
    }
  }

  /** Says that it is over; returns before the client agrees, who has not for ever. */
  public void end(int code) {
    session.setIdleTimeout(CLOSING);
    session.close(code, "", Callback.NOOP);
  }
}
