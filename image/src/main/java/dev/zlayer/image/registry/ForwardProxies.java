package dev.zlayer.image.registry;

import dev.zlayer.error.AgentException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Through which forward proxies registries are reached.
 *
 * @param http for registries that speak plain HTTP
 * @param https for all others, by CONNECT
 * @param direct hosts that need none: a name with all names below it, {@code host:port}, an
 *     address, or {@code *} for all
 */
public record ForwardProxies(Optional<Server> http, Optional<Server> https, List<String> direct) {
  public static final ForwardProxies NONE =
      new ForwardProxies(Optional.empty(), Optional.empty(), List.of());

  private static final int USUAL_PORT = 3128;

  public ForwardProxies {
    direct = List.copyOf(direct);
  }

  /** One proxy; {@code authorization} is the value of Proxy-Authorization. */
  public record Server(String host, int port, Optional<String> authorization) {
    @Override
    public String toString() {
      return host + ":" + port; // never with its password
    }
  }

  /**
   * Reads what the usual variables hold; empty texts count as absent.
   *
   * @throws AgentException.Configuration names the setting that is not a proxy
   */
  public static ForwardProxies parse(
      Optional<String> http, Optional<String> https, Optional<String> direct) {
    return new ForwardProxies(
        http.filter(text -> !text.isBlank()).map(text -> server("http_proxy", text)),
        https.filter(text -> !text.isBlank()).map(text -> server("https_proxy", text)),
        direct.stream()
            .flatMap(text -> Arrays.stream(text.split("[,\\s]+", -1)))
            .filter(text -> !text.isEmpty())
            .map(text -> text.toLowerCase(Locale.ROOT))
            .toList());
  }

  /** The proxy for a request, if it needs one; nothing on this machine does. */
  Optional<Server> of(URI target) {
    String host = String.valueOf(target.getHost()).toLowerCase(Locale.ROOT);
    boolean exempt = Hosts.loopback(host) || direct.stream().anyMatch(text -> covers(text, target));
    return exempt ? Optional.empty() : Hosts.plain(target) ? http : https;
  }

  private static boolean covers(String exempt, URI target) {
    if (exempt.equals("*")) {
      return true;
    }
    String host = String.valueOf(target.getHost()).toLowerCase(Locale.ROOT);
    int port = target.getPort() >= 0 ? target.getPort() : Hosts.plain(target) ? 80 : 443;
    String name = exempt;
    int colon = exempt.lastIndexOf(':');
    if (colon > 0 && exempt.substring(colon + 1).matches("[0-9]{1,5}")) {
      if (Integer.parseInt(exempt.substring(colon + 1)) != port) {
        return false;
      }
      name = exempt.substring(0, colon);
    }
    String bare = name.startsWith("*.") ? name.substring(2) : name.replaceFirst("^\\.", "");
    return host.equals(bare) || host.endsWith("." + bare);
  }

  private static Server server(String setting, String text) {
    URI uri;
    try {
      uri = URI.create(text.contains("://") ? text.strip() : "http://" + text.strip());
    } catch (IllegalArgumentException _) {
      throw wrong(setting);
    }
    if (uri.getHost() == null || !"http".equalsIgnoreCase(uri.getScheme())) {
      throw wrong(setting);
    }
    Optional<String> authorization =
        Optional.ofNullable(uri.getUserInfo())
            .map(
                user ->
                    "Basic "
                        + Base64.getEncoder()
                            .encodeToString(user.getBytes(StandardCharsets.UTF_8)));
    return new Server(uri.getHost(), uri.getPort() < 0 ? USUAL_PORT : uri.getPort(), authorization);
  }

  /** Without the text, which may hold a password. */
  private static AgentException wrong(String setting) {
    return new AgentException.Configuration(
        "%s is not a proxy: write http://[user:password@]host[:port]".formatted(setting));
  }
}
