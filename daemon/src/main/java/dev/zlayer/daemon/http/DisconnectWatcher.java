package dev.zlayer.daemon.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;

/**
 * Notices that the caller has gone while its answer is still being made, and interrupts the thread
 * that makes it. Without this a silent stream would be kept up for nobody. The connection must not
 * serve another request afterwards, since what arrives meanwhile is read and dropped.
 */
final class DisconnectWatcher implements AutoCloseable {
  private final Thread worker = Thread.currentThread();
  private final EndPoint endPoint;
  private boolean over;
  private boolean gone;

  private DisconnectWatcher(EndPoint endPoint) {
    this.endPoint = endPoint;
  }

  static DisconnectWatcher watch(Request request) {
    var departure =
        new DisconnectWatcher(request.getConnectionMetaData().getConnection().getEndPoint());
    departure.listen();
    return departure;
  }

  private void listen() {
    endPoint.tryFillInterested(Callback.from(this::readable, _ -> leave()));
  }

  private void readable() {
    ByteBuffer dropped = BufferUtil.allocate(512);
    try {
      if (endPoint.fill(dropped) < 0) {
        leave();
      } else {
        listen();
      }
    } catch (IOException _) {
      leave();
    }
  }

  private synchronized void leave() {
    if (!over) {
      gone = true;
      worker.interrupt();
    }
  }

  synchronized boolean gone() {
    return gone;
  }

  /** From here on the thread is not interrupted any more, and not found interrupted either. */
  @Override
  public synchronized void close() {
    over = true;
    if (gone) {
      boolean _ = Thread.interrupted();
    }
  }
}
