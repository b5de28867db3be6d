package dev.zlayer.daemon.http;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.VirtualThreads;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.jspecify.annotations.Nullable;

/**
 * A server that works and listens nowhere. It takes long to make and needs nothing of the agent, so
 * it is made while that is opened. To be given to {@link HttpListener#open}, which closes it from
 * then on.
 */
public final class PreparedServer implements AutoCloseable {
  private static final Duration GRACE = Duration.ofSeconds(2);

  private final Server server;
  private final Later handler = new Later();
  private boolean opened;

  private PreparedServer() {
    var threads = new QueuedThreadPool(16, 2);
    threads.setName("http");
    threads.setVirtualThreadsExecutor(VirtualThreads.getNamedVirtualThreadsExecutor("http-"));
    this.server = new Server(threads);
    server.setHandler(handler);
    server.setStopTimeout(GRACE.toMillis());
  }

  /** Returns when the server works. */
  public static PreparedServer start() {
    Thread thread = Thread.currentThread();
    ClassLoader usual = thread.getContextClassLoader();
    try (var services = new ServerServices(usual)) {
      thread.setContextClassLoader(services);
      var prepared = new PreparedServer();
      try {
        prepared.server.start();
        return prepared;
      } catch (Exception e) {
        prepared.close();
        throw e;
      }
    } catch (Exception e) {
      throw new AgentException.Internal("cannot start the HTTP server: " + e.getMessage(), e);
    } finally {
      thread.setContextClassLoader(usual);
    }
  }

  /** Whoever asks for it has to stop it. */
  Server open() {
    opened = true;
    return server;
  }

  /** Set before the first socket listens. */
  void handle(Handler to) {
    handler.to = to;
  }

  /** Does nothing when it serves: its listener ends it. */
  @Override
  public void close() {
    try {
      if (!opened) {
        server.stop();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      throw new AgentException.Internal("cannot stop listening", e);
    }
  }

  /** Hands on to the handler that is set before the first socket listens. */
  private static final class Later extends Handler.Abstract {
    private volatile @Nullable Handler to;

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
      Handler handler = to;
      return handler != null && handler.handle(request, response, callback);
    }
  }
}
