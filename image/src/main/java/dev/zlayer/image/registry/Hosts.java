package dev.zlayer.image.registry;

import java.net.URI;
import java.util.Locale;

/** Questions about hosts and origins. Pure: no name is ever looked up. */
final class Hosts {
  private Hosts() {}

  /** Whether this is surely the same machine. */
  static boolean loopback(String authority) {
    String host = withoutPort(authority).toLowerCase(Locale.ROOT);
    return host.equals("localhost")
        || host.endsWith(".localhost")
        || host.equals("[::1]")
        || host.matches("127\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}");
  }

  private static String withoutPort(String authority) {
    int bracket = authority.indexOf(']');
    int colon = authority.indexOf(':', Math.max(0, bracket));
    return colon < 0 ? authority : authority.substring(0, colon);
  }

  static boolean plain(URI uri) {
    return "http".equalsIgnoreCase(uri.getScheme());
  }

  /** Same scheme, host and port: what may see what was meant for the other. */
  static boolean sameOrigin(URI left, URI right) {
    return left.getScheme().equalsIgnoreCase(right.getScheme())
        && sameHost(left, right)
        && port(left) == port(right);
  }

  static boolean sameHost(URI left, URI right) {
    return String.valueOf(left.getHost()).equalsIgnoreCase(String.valueOf(right.getHost()));
  }

  private static int port(URI uri) {
    if (uri.getPort() >= 0) {
      return uri.getPort();
    }
    return plain(uri) ? 80 : 443;
  }
}
