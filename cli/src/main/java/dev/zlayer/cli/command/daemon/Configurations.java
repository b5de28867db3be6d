package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.daemon.config.ConfigReader;
import dev.zlayer.daemon.config.Configured;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** The daemon's configuration as this user would start it. */
final class Configurations {
  private static final String FILE = "zlayer.yml";

  private Configurations() {}

  /** The file named, or the usual one if it is there; variables over it, flags over all. */
  static Configured read(Session session, Optional<String> file, Map<String, String> flags) {
    Path directory = Locations.configDir(session);
    Optional<Path> usual = Optional.of(directory.resolve(FILE)).filter(Files::exists);
    Map<String, String> defaults =
        Map.of(
            "data_dir", Locations.dataDir(session, Optional.empty()).data().toString(),
            "config_dir", directory.toString());
    return ConfigReader.read(
        file.map(session::resolve).or(() -> usual), defaults, session.env(), flags);
  }
}
