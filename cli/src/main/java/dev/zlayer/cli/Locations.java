package dev.zlayer.cli;

import dev.zlayer.cli.client.DaemonAddress;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.TlsFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/** Where things lie for this user: flags over variables over defaults. */
public final class Locations {
  public static final String DATA_DIR = "ZLAYER_DATA_DIR";
  public static final String SOCKET = "ZLAYER_SOCKET";
  public static final String HOST = "ZLAYER_HOST";
  public static final String CONFIG_DIR = "ZLAYER_CONFIG_DIR";
  private static final String RUN_DIR = "ZLAYER_RUN_DIR";
  private static final String UNIX = "unix://";

  private Locations() {}

  /** {@code /var/lib/zlayer} for root, {@code ~/.local/share/zlayer} for others. */
  public static DataDir dataDir(Session session, Optional<String> flag) {
    Path data =
        flag.or(() -> session.variable(DATA_DIR))
            .map(session::resolve)
            .orElseGet(
                () -> isRoot() ? DataDir.USUAL : home(session).resolve(".local/share/zlayer"));
    return session
        .variable(RUN_DIR)
        .map(run -> new DataDir(data, session.resolve(run)))
        .orElseGet(() -> DataDir.of(data));
  }

  /** {@code /etc/zlayer} for root, {@code ~/.config/zlayer} for others. */
  public static Path configDir(Session session) {
    return session
        .variable(CONFIG_DIR)
        .map(session::resolve)
        .orElseGet(
            () -> isRoot() ? Path.of("/etc/zlayer") : home(session).resolve(".config/zlayer"));
  }

  /** The daemon to ask: a socket, or a machine over TCP. */
  public static DaemonAddress daemon(Session session, Optional<String> flag) {
    Optional<String> named = flag.or(() -> session.variable(SOCKET));
    if (named.isPresent()) {
      return DaemonAddress.local(session.resolve(withoutScheme(named.get())));
    }
    return session
        .variable(HOST)
        .map(host -> remote(session, host))
        .orElseGet(() -> DaemonAddress.local(dataDir(session, Optional.empty()).socket()));
  }

  private static DaemonAddress remote(Session session, String host) {
    if (host.startsWith(UNIX)) {
      return DaemonAddress.local(Path.of(withoutScheme(host)));
    }
    Optional<Path> ca = session.variable("ZLAYER_TLS_CA").map(session::resolve);
    Optional<Path> certificate = session.variable("ZLAYER_TLS_CERT").map(session::resolve);
    Optional<Path> key = session.variable("ZLAYER_TLS_KEY").map(session::resolve);
    if (certificate.isPresent() != key.isPresent()) {
      throw new AgentException.Configuration("set ZLAYER_TLS_CERT and ZLAYER_TLS_KEY together");
    }
    boolean secure = ca.isPresent() || key.isPresent() || host.startsWith("https:");
    Optional<SSLContext> tls =
        secure
            ? Optional.of(
                new TlsFiles(ca, certificate.map(own -> new TlsFiles.Own(own, key.orElseThrow())))
                    .context())
            : Optional.empty();
    return new DaemonAddress(HttpAddress.parse(host, tls), token(session));
  }

  private static Optional<String> token(Session session) {
    Optional<Path> file = session.variable("ZLAYER_TOKEN_FILE").map(session::resolve);
    if (file.isEmpty()) {
      return session.variable("ZLAYER_TOKEN");
    }
    try {
      return Optional.of(Files.readString(file.get()).strip());
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "the token in ZLAYER_TOKEN_FILE cannot be read: " + e.getMessage(), e);
    }
  }

  private static String withoutScheme(String text) {
    return text.startsWith(UNIX) ? text.substring(UNIX.length()) : text;
  }

  private static boolean isRoot() {
    return System.getProperty("user.name", "").equals("root");
  }

  /** Where Docker and its relatives keep the credentials of this user. */
  public static Path dockerConfig(Session session) {
    return session
        .variable("DOCKER_CONFIG")
        .map(session::resolve)
        .orElseGet(() -> home(session).resolve(".docker"))
        .resolve("config.json");
  }

  private static Path home(Session session) {
    return Path.of(session.variable("HOME").orElseGet(() -> System.getProperty("user.home", "/")));
  }
}
