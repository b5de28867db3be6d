package dev.zlayer.daemon.http;

import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import javax.net.ssl.SSLContext;

/**
 * The listener for browsers: on loopback, or with TLS.
 *
 * @param hosts further names under which browsers may call it
 */
public record DashboardListener(
    InetSocketAddress address, Optional<SSLContext> tls, List<String> hosts) {
  static final String NAME = "dashboard";

  public DashboardListener {
    hosts = List.copyOf(hosts);
    if (tls.isEmpty() && !address.getAddress().isLoopbackAddress()) {
      throw new IllegalArgumentException("a dashboard for other machines without TLS");
    }
  }

  /** The same on another port. */
  public DashboardListener at(int port) {
    return new DashboardListener(new InetSocketAddress(address.getAddress(), port), tls, hosts);
  }

  /** What a browser is given to open. */
  public String url(int port) {
    String host = hosts.isEmpty() || tls.isEmpty() ? address.getHostString() : hosts.getFirst();
    String shown = host.contains(":") ? "[" + host + "]" : host;
    return "%s://%s:%d/".formatted(tls.isPresent() ? "https" : "http", shown, port);
  }

  AccessControl.Rules rules(BrowserSessions sessions) {
    Set<String> names = new HashSet<>(Set.of("localhost", "127.0.0.1", "[::1]"));
    names.add(address.getHostString().toLowerCase(Locale.ROOT));
    hosts.forEach(host -> names.add(host.toLowerCase(Locale.ROOT)));
    return new AccessControl.Rules(
        NAME,
        false,
        Optional.empty(),
        false,
        names,
        Optional.of(new BrowserAccess(sessions, tls.isPresent())));
  }
}
