package dev.zlayer.cli;

import dev.zlayer.host.file.DataDir;
import java.nio.file.Path;
import java.util.Optional;

/** Where things lie for this user: flags over variables over defaults. */
public final class Locations {
  private static final String DATA_DIR = "ZLAYER_DATA_DIR";
  private static final String CONFIG_DIR = "ZLAYER_CONFIG_DIR";

  private Locations() {}

  /** {@code /var/lib/zlayer} for root, {@code ~/.local/share/zlayer} for others. */
  public static DataDir dataDir(Session session, Optional<String> flag) {
    Path data =
        flag.or(() -> session.variable(DATA_DIR))
            .map(session::resolve)
            .orElseGet(
                () ->
                    isRoot()
                        ? Path.of("/var/lib/zlayer")
                        : home(session).resolve(".local/share/zlayer"));
    return DataDir.under(data);
  }

  /** {@code /etc/zlayer} for root, {@code ~/.config/zlayer} for others. */
  public static Path configDir(Session session) {
    return session
        .variable(CONFIG_DIR)
        .map(session::resolve)
        .orElseGet(
            () -> isRoot() ? Path.of("/etc/zlayer") : home(session).resolve(".config/zlayer"));
  }

  /** The file that docker login and its kin write. */
  public static Path dockerConfig(Session session) {
    return session
        .variable("DOCKER_CONFIG")
        .map(session::resolve)
        .orElseGet(() -> home(session).resolve(".docker"))
        .resolve("config.json");
  }

  private static boolean isRoot() {
    return System.getProperty("user.name", "").equals("root");
  }

  private static Path home(Session session) {
    return Path.of(session.variable("HOME").orElseGet(() -> System.getProperty("user.home", "/")));
  }
}
