package dev.zlayer.daemon;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.http.DashboardListener;
import dev.zlayer.daemon.http.TcpListener;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.TlsFiles;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/** The listener for other machines, as the operator wants it and as it is safe. */
final class TcpSettings {
  private static final int SHORTEST_TOKEN = 16;

  private TcpSettings() {}

  static Optional<TcpListener> of(AgentConfig config) {
    if (config.listen().isEmpty()) {
      return Optional.empty();
    }
    if (config.tokenFile().isEmpty() && config.tlsClientCa().isEmpty()) {
      throw new AgentException.Configuration(
          "listen = %s without authentication: set token_file or tls_client_ca; whoever reaches this port"
                  .formatted(config.listen().get())
              + " would own the machine");
    }
    Optional<SSLContext> tls =
        config.tlsCertificate().map(certificate -> context(certificate, config));
    if (config.tlsClientCa().isPresent() && tls.isEmpty()) {
      throw new AgentException.Configuration(
          "tls_client_ca needs the agent's own tls_certificate and tls_key");
    }
    String listen = config.listen().get();
    InetSocketAddress address = address("listen", listen);
    if (tls.isEmpty() && !address.getAddress().isLoopbackAddress()) {
      throw new AgentException.Configuration(
          "listen = %s would send the token in the clear: set tls_certificate and tls_key"
              .formatted(listen));
    }
    return Optional.of(
        new TcpListener(
            address,
            tls,
            config.tlsClientCa().isPresent(),
            config.tokenFile().map(TcpSettings::token),
            config.hosts()));
  }

  /**
   * The listener for browsers; empty where it is switched off.
   *
   * <p>On loopback it speaks plain HTTP, whatever certificate the agent has for its other names;
   * everywhere else TLS.
   */
  static Optional<DashboardListener> dashboard(AgentConfig config) {
    String listen = config.dashboardListen().orElse("127.0.0.1:0");
    if (listen.equals("off")) {
      return Optional.empty();
    }
    InetSocketAddress address = address("dashboard_listen", listen);
    if (address.getAddress().isLoopbackAddress()) {
      return Optional.of(new DashboardListener(address, Optional.empty(), config.hosts()));
    }
    if (address.getAddress().isAnyLocalAddress() && config.hosts().isEmpty()) {
      throw new AgentException.Configuration(
          "dashboard_listen = %s: set 'hosts' to the names under which browsers call it"
              .formatted(listen));
    }
    SSLContext tls =
        config
            .tlsCertificate()
            .map(certificate -> context(certificate, config))
            .orElseThrow(
                () ->
                    new AgentException.Configuration(
                        "dashboard_listen = %s would send sessions in the clear: set tls_certificate and tls_key, or use 127.0.0.1"
                            .formatted(listen)));
    return Optional.of(new DashboardListener(address, Optional.of(tls), config.hosts()));
  }

  private static InetSocketAddress address(String setting, String listen) {
    int colon = listen.lastIndexOf(':');
    String host = listen.substring(0, colon).replaceAll("^\\[|]$", "");
    int port = Integer.parseInt(listen.substring(colon + 1));
    if (port > 65_535) {
      throw new AgentException.Configuration(
          "%s = %s: port %d is above 65535".formatted(setting, listen, port));
    }
    var address = new InetSocketAddress(host, port);
    if (address.isUnresolved()) {
      throw new AgentException.Configuration(
          "%s = %s: host '%s' cannot be resolved; write an address of this host, e.g. 127.0.0.1:%d"
              .formatted(setting, listen, host, port));
    }
    return address;
  }

  private static SSLContext context(String certificate, AgentConfig config) {
    Path key =
        config
            .tlsKey()
            .map(Path::of)
            .orElseThrow(
                () -> new AgentException.Configuration("tls_certificate needs tls_key beside it"));
    requirePrivate(key);
    return new TlsFiles(
            config.tlsClientCa().map(Path::of),
            Optional.of(new TlsFiles.Own(Path.of(certificate), key)))
        .context();
  }

  private static String token(String file) {
    requirePrivate(Path.of(file));
    try {
      String token = Files.readString(Path.of(file)).strip();
      if (token.length() < SHORTEST_TOKEN) {
        throw new AgentException.Configuration(
            "the token in %s has fewer than %d characters".formatted(file, SHORTEST_TOKEN));
      }
      return token;
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }

  /** A secret that others can read is none. */
  private static void requirePrivate(Path file) {
    try {
      var others =
          EnumSet.of(
              PosixFilePermission.GROUP_READ,
              PosixFilePermission.GROUP_WRITE,
              PosixFilePermission.OTHERS_READ,
              PosixFilePermission.OTHERS_WRITE);
      others.retainAll(Files.getPosixFilePermissions(file));
      if (!others.isEmpty()) {
        throw new AgentException.Configuration(
            "others can read %s: run 'chmod 600 %s'".formatted(file, file));
      }
    } catch (IOException e) {
      throw unreadable(file.toString(), e);
    }
  }

  private static AgentException.Configuration unreadable(String file, IOException e) {
    return new AgentException.Configuration(
        "%s cannot be read: %s".formatted(file, e.getMessage()), e);
  }
}
