package dev.zlayer.proxy.ingress;

import dev.zlayer.spec.value.AddressRange;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * How the ingress is set up.
 *
 * @param directory configuration, records and sockets; a reboot may take it
 * @param state what operators set, and the access log; kept
 * @param http where requests are accepted, {@code ADDRESS:PORT}, or {@code :PORT} for all addresses
 * @param https the same for requests with TLS
 * @param ipv6 whether those include addresses of IPv6
 * @param proxies load balancers in front of it, whose connections begin with the PROXY protocol
 * @param haproxy the program
 * @param limit how long HAProxy may take to start or to reload
 */
public record IngressConfig(
    Path directory,
    Path state,
    String http,
    String https,
    boolean ipv6,
    List<AddressRange> proxies,
    Path haproxy,
    Duration limit) {
  public IngressConfig {
    proxies = List.copyOf(proxies);
  }

  private static final Path PROGRAM = Path.of("/usr/sbin/haproxy");

  public static IngressConfig of(Path directory, String http, String https, boolean ipv6) {
    return new IngressConfig(
        directory,
        directory.resolve("kept"),
        http,
        https,
        ipv6,
        List.of(),
        PROGRAM,
        Duration.ofSeconds(20));
  }

  public IngressConfig withState(Path kept) {
    return new IngressConfig(directory, kept, http, https, ipv6, proxies, haproxy, limit);
  }

  public IngressConfig withHaproxy(Path program) {
    return new IngressConfig(directory, state, http, https, ipv6, proxies, program, limit);
  }

  public IngressConfig withProxies(List<AddressRange> trusted) {
    return new IngressConfig(directory, state, http, https, ipv6, trusted, haproxy, limit);
  }
}
