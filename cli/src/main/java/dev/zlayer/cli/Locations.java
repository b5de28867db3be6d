package dev.zlayer.cli;

import dev.zlayer.cli.client.Contexts;
import dev.zlayer.cli.client.DaemonAddress;
import dev.zlayer.cli.client.SshAddress;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.TlsFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/** Where things lie for this user: flags over variables over defaults. */
public final class Locations {
  public static final String DATA_DIR = "ZLAYER_DATA_DIR";
  public static final String SOCKET = "ZLAYER_SOCKET";
  public static final String HOST = "ZLAYER_HOST";
  public static final String CONFIG_DIR = "ZLAYER_CONFIG_DIR";
  private static final String RUN_DIR = "ZLAYER_RUN_DIR";
  private static final String CONTEXT = "ZLAYER_CONTEXT";
  private static final String SSH = "ZLAYER_SSH";
  private static final String TLS_CA = "ZLAYER_TLS_CA";
  private static final String TLS_CERT = "ZLAYER_TLS_CERT";
  private static final String TLS_KEY = "ZLAYER_TLS_KEY";
  private static final String TOKEN_FILE = "ZLAYER_TOKEN_FILE";
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

  /**
   * The daemon to ask: a socket, or another machine. Flags go over variables, those over the
   * context in use.
   */
  public static DaemonAddress daemon(
      Session session, Optional<String> socket, Optional<String> context) {
    if (socket.isPresent() && context.isPresent()) {
      throw new AgentException.InvalidSpec("--socket and --context exclude each other: choose one");
    }
    if (context.isPresent()) {
      return address(session, context.get());
    }
    Optional<String> named = socket.or(() -> session.variable(SOCKET));
    if (named.isPresent()) {
      return DaemonAddress.local(session.resolve(withoutScheme(named.get())));
    }
    return session
        .variable(HOST)
        .map(host -> remote(session, host))
        .orElseGet(() -> address(session, currentContext(session)));
  }

  /** The user's own, whoever that is. */
  public static Path contexts(Session session) {
    return session
        .variable("XDG_CONFIG_HOME")
        .map(session::resolve)
        .orElseGet(() -> home(session).resolve(".config"))
        .resolve("zlayer/contexts.json");
  }

  /** The name of the context in use when no flag names another; a data directory is local. */
  public static String currentContext(Session session) {
    return overriding(session).isPresent()
        ? session.variable(CONTEXT).orElse(Contexts.DEFAULT)
        : Contexts.read(contexts(session)).current().orElse(Contexts.DEFAULT);
  }

  /** The variable that counts more than the context in use. */
  public static Optional<String> overriding(Session session) {
    return List.of(SOCKET, HOST, CONTEXT, DATA_DIR, RUN_DIR).stream()
        .filter(name -> session.variable(name).isPresent())
        .findFirst();
  }

  /** Throws when a context could never be used. */
  public static void check(Session session, Contexts.Context context) {
    DaemonAddress _ = address(session, context);
  }

  public static Path localSocket(Session session) {
    return dataDir(session, Optional.empty()).socket();
  }

  private static DaemonAddress address(Session session, String context) {
    return Contexts.read(contexts(session))
        .find(context)
        .map(found -> address(session, found))
        .orElseGet(() -> DaemonAddress.local(localSocket(session)));
  }

  /** As if its values were set as variables, and no others. */
  private static DaemonAddress address(Session session, Contexts.Context context) {
    var env = new HashMap<>(session.env());
    env.keySet().removeIf(name -> name.startsWith("ZLAYER_T")); // TLS and tokens of others
    context.tlsCa().ifPresent(file -> env.put(TLS_CA, file));
    context.tlsCert().ifPresent(file -> env.put(TLS_CERT, file));
    context.tlsKey().ifPresent(file -> env.put(TLS_KEY, file));
    context.tokenFile().ifPresent(file -> env.put(TOKEN_FILE, file));
    return remote(session.withEnv(env), context.host());
  }

  private static DaemonAddress remote(Session session, String host) {
    if (host.startsWith(UNIX)) {
      return DaemonAddress.local(Path.of(withoutScheme(host)));
    }
    if (host.startsWith(SshAddress.SCHEME)) {
      return new DaemonAddress(
          SshAddress.parse(host, session.variable(SSH).orElse("ssh")), Optional.empty());
    }
    Optional<Path> ca = session.variable(TLS_CA).map(session::resolve);
    Optional<Path> certificate = session.variable(TLS_CERT).map(session::resolve);
    Optional<Path> key = session.variable(TLS_KEY).map(session::resolve);
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
    Optional<Path> file = session.variable(TOKEN_FILE).map(session::resolve);
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
    return user().equals("root");
  }

  /** The name of this user. */
  public static String user() {
    return System.getProperty("user.name", "");
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
