package dev.zlayer.daemon.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/**
 * Notices that the caller has gone while its answer is still being made, and interrupts the thread
 * that makes it. Without this a silent stream would be kept up for nobody. The connection must not
 * serve another request afterwards, since what arrives meanwhile is read and dropped.
 */
final class DisconnectWatcher implements AutoCloseable {
  private static final String ATTRIBUTE = DisconnectWatcher.class.getName();

  private final Thread worker = Thread.currentThread();
  private final EndPoint endPoint;
  private boolean over;
  private boolean left;
  private boolean gone;
  private @Nullable DisconnectWatcher next;

  private DisconnectWatcher(EndPoint endPoint) {
    this.endPoint = endPoint;
  }

  static DisconnectWatcher watch(Request request) {
    var departure =
        new DisconnectWatcher(request.getConnectionMetaData().getConnection().getEndPoint());
    Object before = request.getAttribute(ATTRIBUTE);
    request.setAttribute(ATTRIBUTE, departure);
    if (before instanceof DisconnectWatcher listening) {
      listening.passTo(departure); // an answer was made, and is a stream
    } else {
      departure.listen();
    }
    return departure;
  }

  /** A connection tells one alone that something came, and goes on telling it. */
  private void passTo(DisconnectWatcher successor) {
    boolean late;
    synchronized (this) {
      next = successor;
      late = left;
    }
    if (late) {
      successor.leave();
    }
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

  private void leave() {
    DisconnectWatcher successor;
    synchronized (this) {
      left = true;
      successor = next;
      if (!over) {
        gone = true;
        worker.interrupt();
      }
    }
    if (successor != null) {
      successor.leave();
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
