package dev.zlayer.bench.engine;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.proxy.ProxyHandler;
import org.eclipse.jetty.server.CustomRequestLog;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.StatisticsHandler;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/**
 * Jetty's proxy as a process of its own, with the hosts of a file, an access log and statistics.
 * The arguments are its ports for HTTP and HTTPS, that of the server behind it, and a directory.
 */
public final class JettyProxy {
  static final String PASSWORD = "bench-only";

  private JettyProxy() {}

  public static void main(String... arguments) throws Exception {
    int origin = Integer.parseInt(arguments[2]);
    Path directory = Path.of(arguments[3]);
    Set<String> hosts = Set.copyOf(Files.readAllLines(directory.resolve("hosts")));
    var server = new Server();
    connect(server, Integer.parseInt(arguments[0]), new HttpConnectionFactory());
    var keys = new SslContextFactory.Server();
    keys.setKeyStorePath(directory.resolve("jetty.p12").toString());
    keys.setKeyStorePassword(PASSWORD);
    var secure = new HttpConfiguration();
    secure.addCustomizer(new SecureRequestCustomizer());
    var https = new ServerConnector(server, keys, new HttpConnectionFactory(secure));
    listen(server, https, Integer.parseInt(arguments[1]));
    server.setRequestLog(
        new CustomRequestLog(
            directory.resolve("jetty.access").toString(), CustomRequestLog.EXTENDED_NCSA_FORMAT));
    var statistics = new StatisticsHandler();
    statistics.setHandler(
        new ProxyHandler.Reverse(
            request ->
                hosts.contains(Request.getServerName(request))
                    ? HttpURI.build(request.getHttpURI())
                        .scheme("http")
                        .authority("127.0.0.1", origin)
                        .asImmutable()
                    : null));
    server.setHandler(statistics);
    server.start();
    server.join();
  }

  private static void connect(Server server, int port, HttpConnectionFactory protocol) {
    listen(server, new ServerConnector(server, protocol), port);
  }

  private static void listen(Server server, ServerConnector connector, int port) {
    connector.setHost("127.0.0.1");
    connector.setPort(port);
    server.addConnector(connector);
  }
}
