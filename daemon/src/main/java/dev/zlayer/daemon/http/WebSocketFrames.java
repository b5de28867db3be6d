package dev.zlayer.daemon.http;

import dev.zlayer.task.Reply;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;

/** Sends frames one after the other, whoever sends, and waits until each was taken. */
public record WebSocketFrames(Session session) {
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

  /** Asks for the next frame of the client. */
  public void demand() {
    if (session.isOpen()) {
      session.demand();
    }
  }
}
