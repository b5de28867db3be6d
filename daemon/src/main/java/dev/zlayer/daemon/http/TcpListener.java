package dev.zlayer.daemon.http;

import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import javax.net.ssl.SSLContext;
import org.eclipse.jetty.io.ssl.SslHandshakeListener;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/**
 * The listener for other machines. It asks for one proof or the other, or both: the certificate of
 * the caller, or a token.
 *
 * @param tls the agent's certificate and whose certificates callers must have
 * @param clientCertificates whether a caller has to show one
 * @param hosts further names under which the agent may be called
 */
public record TcpListener(
    InetSocketAddress address,
    Optional<SSLContext> tls,
    boolean clientCertificates,
    Optional<String> token,
    List<String> hosts) {
  static final String NAME = "tcp";

  public TcpListener {
    hosts = List.copyOf(hosts);
    if (token.isEmpty() && !(tls.isPresent() && clientCertificates)) {
      throw new IllegalArgumentException("a listener without authentication");
    }
  }

  Connector connector(Server server, HttpConfiguration http, AuditSink audit) {
    return connector(server, http, audit, NAME, address, tls, clientCertificates);
  }

  static ServerConnector connector(
      Server server,
      HttpConfiguration http,
      AuditSink audit,
      String name,
      InetSocketAddress address,
      Optional<SSLContext> tls,
      boolean clientCertificates) {
    ServerConnector connector;
    if (tls.isPresent()) {
      http.addCustomizer(new SecureRequestCustomizer(false));
      var context = new SslContextFactory.Server();
      context.setSslContext(tls.get());
      context.setNeedClientAuth(clientCertificates);
      context.setWantClientAuth(!clientCertificates && name.equals(ClusterListener.NAME));
      connector =
          new ServerConnector(
              server,
              1,
              1,
              new SslConnectionFactory(context, "http/1.1"),
              new HttpConnectionFactory(http));
    } else {
      connector = new ServerConnector(server, 1, 1, new HttpConnectionFactory(http));
    }
    connector.setHost(address.getHostString());
    connector.setPort(address.getPort());
    connector.setIdleTimeout(60_000);
    connector.setAcceptQueueSize(HttpListener.BACKLOG);
    connector.setName(name);
    connector.addBean(new RefusedHandshakes(name, audit));
    return connector;
  }

  /** Callers without the right certificate never get as far as a request. */
  private record RefusedHandshakes(String name, AuditSink audit) implements SslHandshakeListener {
    @Override
    public void handshakeFailed(Event event, Throwable failure) {
      audit.unauthenticated(
          new AuditSink.Entry(
              name,
              "unknown",
              AuditEntries.address(event.getEndPoint().getRemoteSocketAddress()),
              "TLS",
              "-",
              Map.of(),
              0));
    }
  }

  AccessControl.Rules rules() {
    Set<String> names = new HashSet<>(Set.of("localhost", "127.0.0.1", "[::1]"));
    names.add(address.getHostString().toLowerCase(Locale.ROOT));
    hosts.forEach(host -> names.add(host.toLowerCase(Locale.ROOT)));
    return new AccessControl.Rules(NAME, false, token, true, names);
  }
}
