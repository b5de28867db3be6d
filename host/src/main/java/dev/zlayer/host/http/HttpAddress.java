package dev.zlayer.host.http;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/** Where a server listens. */
public sealed interface HttpAddress {
  record Unix(Path socket) implements HttpAddress {
    @Override
    public String toString() {
      return "unix://" + socket;
    }
  }

  record Tcp(String host, int port) implements HttpAddress {
    @Override
    public String toString() {
      return "tcp://" + authority();
    }
  }

  /** A program whose standard streams lead to the server, as {@code ssh} does. */
  record Program(String name, Command command) implements HttpAddress {
    @Override
    public String toString() {
      return name;
    }
  }

  /** The server's certificate has to be for {@code host}; the context may hold one of ours. */
  record Tls(String host, int port, SSLContext context) implements HttpAddress {
    @Override
    public String toString() {
      return "https://" + authority();
    }
  }

  /**
   * Reads {@code unix:///path}, {@code tcp://host:port} or {@code https://host:port}; with a
   * context {@code tcp} means TLS as well, as Docker's own tools have it.
   */
  static HttpAddress parse(String text, Optional<SSLContext> tls) {
    try {
      var uri = new URI(text);
      String scheme = Optional.ofNullable(uri.getScheme()).orElse("");
      return switch (scheme) {
        case "unix" -> new Unix(Path.of(uri.getPath()));
        case "tcp", "http", "https" -> overTcp(uri, scheme, tls);
        default -> throw odd(text, null);
      };
    } catch (java.net.URISyntaxException | java.nio.file.InvalidPathException e) {
      throw odd(text, e);
    }
  }

  private static HttpAddress overTcp(URI uri, String scheme, Optional<SSLContext> tls) {
    if (uri.getHost() == null || uri.getPort() < 1) {
      throw odd(uri.toString(), null);
    }
    String host = uri.getHost().replaceAll("^\\[|\\]$", "");
    if (tls.isPresent()) {
      return new Tls(host, uri.getPort(), tls.get());
    }
    if (scheme.equals("https")) {
      throw new AgentException.InvalidSpec("address '" + uri + "' needs certificates to trust");
    }
    return new Tcp(host, uri.getPort());
  }

  private static AgentException odd(
      String text, @org.jspecify.annotations.Nullable Exception cause) {
    return new AgentException.InvalidSpec(
        "address '" + text + "' is none: write unix:///path, tcp://host:port or https://host:port",
        cause);
  }

  /** What belongs into the {@code Host} header. */
  default String authority() {
    if (this instanceof Tcp(String host, int port)) {
      return bracketed(host) + ":" + port;
    }
    return this instanceof Tls(String host, int port, SSLContext _)
        ? bracketed(host) + ":" + port
        : "localhost";
  }

  private static String bracketed(String host) {
    return host.contains(":") ? "[" + host + "]" : host;
  }
}
