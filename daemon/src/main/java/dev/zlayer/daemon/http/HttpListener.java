package dev.zlayer.daemon.http;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.PassedSocket;
import java.io.IOException;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipalNotFoundException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import javax.net.ssl.SSLContext;
import org.eclipse.jetty.http.HttpCompliance;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.NetworkConnector;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.unixdomain.server.UnixDomainServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.HostPort;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;

/** The listening sockets and the server behind them. */
public final class HttpListener implements AutoCloseable {
  /** As many as the system allows: the kernel cuts it to {@code net.core.somaxconn}. */
  static final int BACKLOG = Integer.MAX_VALUE;

  private static final int LARGEST_HEADERS = 32 << 10;

  /** Names with slashes may be sent encoded, and a name may begin with a slash. */
  private static final UriCompliance LENIENT_PATHS =
      UriCompliance.DEFAULT.with(
          "lenient",
          UriCompliance.Violation.AMBIGUOUS_PATH_SEPARATOR,
          UriCompliance.Violation.AMBIGUOUS_EMPTY_SEGMENT);

  private static final int FRAMES = 1 << 20;
  private static final Duration IDLE = Duration.ofSeconds(60);

  private final Server server;
  private final List<UnixSocket> sockets;
  private final Map<String, HttpApi> apis;
  private final AccessControl access;
  private final AuditSink audit;

  /**
   * A socket file, who may use it, and whether only for looking.
   *
   * @param api what is served there; the agent's own API when absent
   * @param passed it listens already, opened by the service manager, which keeps its file
   */
  public record UnixSocket(
      Path path, Optional<String> group, boolean readOnly, Optional<HttpApi> api, boolean passed) {
    /** With the agent's own API. */
    public UnixSocket(Path path, Optional<String> group, boolean readOnly) {
      this(path, group, readOnly, Optional.empty(), false);
    }
  }

  /** What decides on callers and keeps what they do. */
  public record Access(Tokens tokens, Function<Route, DeploymentScope> scopes, AuditSink audit) {
    /** No scoped tokens, and nothing is kept. */
    public static final Access NONE =
        new Access(Tokens.NONE, _ -> DeploymentScope.DENIED, AuditSink.NONE);
  }

  private HttpListener(
      Server server,
      List<UnixSocket> sockets,
      Map<String, HttpApi> apis,
      AccessControl access,
      AuditSink audit) {
    this.server = server;
    this.sockets = List.copyOf(sockets);
    this.apis = apis;
    this.access = access;
    this.audit = audit;
  }

  /**
   * What serves WebSockets, made when it is asked for and not at the start: Java opens every jar of
   * the class path to find extensions.
   */
  static ServerWebSocketContainer webSockets(Server server) {
    synchronized (server) {
      ServerWebSocketContainer webSockets = ServerWebSocketContainer.ensure(server);
      webSockets.setIdleTimeout(Duration.ZERO);
      webSockets.setMaxBinaryMessageSize(FRAMES);
      webSockets.setMaxTextMessageSize(FRAMES);
      return webSockets;
    }
  }

  /** Makes what the first request of some kind would have to wait for. */
  public void complete() {
    ServerWebSocketContainer _ = webSockets(server);
  }

  /** Begins to serve; returns when every socket listens. */
  public static HttpListener open(
      List<UnixSocket> sockets,
      Optional<TcpListener> tcp,
      Router router,
      Access access,
      HttpObserver observer,
      Log log) {
    try (var prepared = PreparedServer.start()) {
      return open(prepared, sockets, tcp, router, access, observer, log);
    }
  }

  /**
   * The same with a server that was prepared.
   *
   * @throws AgentException.Configuration a socket cannot be had; none listens then
   */
  public static HttpListener open(
      PreparedServer prepared,
      List<UnixSocket> sockets,
      Optional<TcpListener> tcp,
      Router router,
      Access access,
      HttpObserver observer,
      Log log) {
    // before there is a listener, which would remove these files when it is closed
    sockets.stream().filter(socket -> !socket.passed()).forEach(socket -> clear(socket.path()));
    Server server = prepared.open();
    var rules = new HashMap<String, AccessControl.Rules>();
    HttpApi rest = new RestApi(router);
    var others = new ConcurrentHashMap<String, HttpApi>();
    var connectors = new ArrayList<Connector>();
    for (UnixSocket socket : sockets) {
      Connector connector = connector(server, socket);
      connectors.add(connector);
      socket.api().ifPresent(api -> others.put(connector.getName(), api));
      rules.put(
          connector.getName(),
          new AccessControl.Rules(
              connector.getName(), socket.readOnly(), Optional.empty(), false, Set.of()));
    }
    tcp.ifPresent(
        settings -> {
          Connector connector = settings.connector(server, http(), access.audit());
          connectors.add(connector);
          rules.put(connector.getName(), settings.rules());
        });
    Function<Request, HttpApi> apis =
        request ->
            others.getOrDefault(request.getConnectionMetaData().getConnector().getName(), rest);
    var control = new AccessControl(rules, access.tokens(), access.scopes());
    prepared.handle(new RequestHandler(apis, control, access.audit(), observer, log));
    server.setErrorHandler(
        (request, response, callback) -> refused(apis.apply(request), request, response, callback));
    var listener = new HttpListener(server, sockets, others, control, access.audit());
    try {
      for (Connector connector : connectors) {
        server.addConnector(connector);
        server.manage(connector);
        if (connector instanceof NetworkConnector tcpConnector) {
          tcpConnector.open(); // the first that fails, before any serves
        }
      }
      for (Connector connector : connectors) {
        connector.start();
      }
      for (UnixSocket socket : sockets) {
        protect(socket);
      }
      return listener;
    } catch (AgentException e) {
      listener.close();
      throw e;
    } catch (Exception e) {
      listener.close();
      throw new AgentException.Configuration("cannot listen: " + e.getMessage(), e);
    }
  }

  private static Connector connector(Server server, UnixSocket socket) {
    HttpConfiguration http = http();
    // old clients send no name of a host; the path of the socket would be taken for one
    http.setServerAuthority(new HostPort("localhost"));
    boolean lenient = socket.api().filter(HttpApi::lenient).isPresent();
    if (lenient) {
      http.setUriCompliance(LENIENT_PATHS);
    }
    var connector =
        new UnixDomainServerConnector(
            server,
            1,
            1,
            lenient ? new BlankHostConnections(http) : new HttpConnectionFactory(http));
    // the connector removes the file of its path when it ends, also of a socket that it was given
    connector.setUnixDomainPath(
        socket.passed() ? socket.path().resolveSibling(".passed") : socket.path());
    connector.setInheritChannel(socket.passed());
    connector.setIdleTimeout(IDLE.toMillis());
    connector.setAcceptQueueSize(BACKLOG);
    connector.setName("unix:" + socket.path());
    return connector;
  }

  /**
   * Opens the listener for browsers besides the others; returns its port.
   *
   * @throws AgentException.Configuration the address cannot be had
   */
  public synchronized int add(DashboardListener settings, HttpApi api, BrowserSessions sessions) {
    ServerConnector connector =
        TcpListener.connector(
            server,
            http(),
            audit,
            DashboardListener.NAME,
            settings.address(),
            settings.tls(),
            false);
    apis.put(connector.getName(), api);
    access.add(connector.getName(), settings.rules(sessions), sessions);
    try {
      server.addConnector(connector);
      connector.start();
      return connector.getLocalPort();
    } catch (Exception e) {
      server.removeConnector(connector);
      throw new AgentException.Configuration(
          "cannot serve the dashboard on %s:%d: %s"
              .formatted(
                  settings.address().getHostString(),
                  settings.address().getPort(),
                  e.getCause() == null ? e.getMessage() : e.getCause().getMessage()),
          e);
    }
  }

  /**
   * Opens the listener for other nodes of a cluster.
   *
   * @throws AgentException.Configuration the address cannot be had
   */
  public synchronized void add(ClusterListener settings, HttpApi api) {
    ServerConnector connector =
        TcpListener.connector(
            server,
            http(),
            audit,
            ClusterListener.NAME,
            settings.address(),
            Optional.of(settings.tls()),
            false);
    apis.put(connector.getName(), api);
    access.add(connector.getName(), settings.rules());
    try {
      server.addConnector(connector);
      connector.start();
    } catch (Exception e) {
      server.removeConnector(connector);
      throw new AgentException.Configuration(
          "cannot serve other nodes on %s:%d: %s"
              .formatted(
                  settings.address().getHostString(),
                  settings.address().getPort(),
                  e.getCause() == null ? e.getMessage() : e.getCause().getMessage()),
          e);
    }
  }

  /** Shows another certificate to other nodes from now on; open connections stay. */
  public synchronized void replaceClusterTls(SSLContext tls) {
    for (Connector connector : server.getConnectors()) {
      SslConnectionFactory secure = connector.getConnectionFactory(SslConnectionFactory.class);
      if (ClusterListener.NAME.equals(connector.getName()) && secure != null) {
        try {
          secure.getSslContextFactory().reload(factory -> factory.setSslContext(tls));
        } catch (Exception e) {
          throw new AgentException.Internal("cannot use the new certificate", e);
        }
      }
    }
  }

  /** Closes it again, when this node has left its cluster. */
  public synchronized void removeCluster() {
    for (Connector connector : server.getConnectors()) {
      if (ClusterListener.NAME.equals(connector.getName())) {
        try {
          connector.stop();
        } catch (Exception e) {
          throw new AgentException.Internal("cannot stop listening", e);
        }
        server.removeConnector(connector);
      }
    }
  }

  private static HttpConfiguration http() {
    var http = new HttpConfiguration();
    // the default lets a bare line feed end a header, where others read on
    http.setHttpCompliance(HttpCompliance.STRICT);
    http.setSendServerVersion(false);
    http.setSendDateHeader(false);
    http.setRequestHeaderSize(LARGEST_HEADERS);
    http.setOutputBufferSize(16 << 10);
    http.setRelativeRedirectAllowed(false);
    return http;
  }

  /** Takes away the file of a socket that nobody listens on. */
  private static void clear(Path path) {
    try {
      Files.createDirectories(path.toAbsolutePath().resolveSibling("."));
      if (Files.exists(path) && !answers(path)) {
        Files.delete(path);
      }
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot listen on %s: %s".formatted(path, e.getMessage()), e);
    }
    if (Files.exists(path)) {
      throw new AgentException.Configuration(
          "another program listens on %s: stop it, or choose another socket".formatted(path));
    }
  }

  /** One that listens and has no room for another connection counts too; it is not waited for. */
  private static boolean answers(Path path) {
    try (var channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.configureBlocking(false);
      boolean _ = channel.connect(UnixDomainSocketAddress.of(path));
      return true;
    } catch (ConnectException _) {
      return false;
    } catch (IOException _) {
      return Files.exists(path);
    }
  }

  /** For its owner and its group; to connect one needs the right to write. */
  private static void protect(UnixSocket socket) throws IOException {
    if (socket.group().isPresent()) {
      GroupPrincipal group = group(socket.path(), socket.group().get());
      Files.getFileAttributeView(socket.path(), PosixFileAttributeView.class).setGroup(group);
    }
    Files.setPosixFilePermissions(socket.path(), PosixFilePermissions.fromString("rw-rw----"));
  }

  /** Whether the machine has a group of that name. */
  public static boolean groupExists(Path socket, String name) {
    try {
      GroupPrincipal _ =
          socket.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByGroupName(name);
      return true;
    } catch (IOException | UnsupportedOperationException _) {
      return false;
    }
  }

  private static GroupPrincipal group(Path socket, String name) throws IOException {
    try {
      return socket
          .getFileSystem()
          .getUserPrincipalLookupService()
          .lookupPrincipalByGroupName(name);
    } catch (UserPrincipalNotFoundException e) {
      throw new AgentException.Configuration(
          "there is no group '%s' for the socket: make it, or change socket_group".formatted(name),
          e);
    }
  }

  /** Requests that the server itself refuses look like those that we refuse. */
  private static boolean refused(
      HttpApi api, Request request, Response response, Callback callback) {
    String id = RequestIds.of(request);
    int status = response.getStatus();
    Object reason =
        request.getAttribute(org.eclipse.jetty.server.handler.ErrorHandler.ERROR_MESSAGE);
    ApiResponse.Whole problem =
        api.problem(
            AccessDenied.byServer(
                status, reason == null ? "the request was refused" : reason.toString()),
            id);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, problem.type());
    response.write(true, ByteBuffer.wrap(problem.body()), callback);
    return true;
  }

  /** The address of the TCP listener, if there is one. */
  public Optional<String> address() {
    for (Connector connector : server.getConnectors()) {
      if (connector instanceof ServerConnector tcp && TcpListener.NAME.equals(tcp.getName())) {
        return Optional.of(tcp.getHost() + ":" + tcp.getLocalPort());
      }
    }
    return Optional.empty();
  }

  /** Takes no more requests; those under way are interrupted after a moment. */
  @Override
  public void close() {
    try {
      try {
        if (sockets.stream().anyMatch(UnixSocket::passed)) {
          PassedSocket.keepingStreams(server::stop);
        } else {
          server.stop();
        }
      } catch (TimeoutException _) {
        // followers do not end by themselves: they were interrupted, and all the rest has stopped
      }
      for (UnixSocket socket : sockets) {
        if (!socket.passed()) {
          Files.deleteIfExists(socket.path());
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      throw new AgentException.Internal("cannot stop listening", e);
    }
  }
}
