package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;

/**
 * What containers are connected to besides, or instead of, the network they were created on: one
 * file per container that has such connections. It outlives the machine, so that a container that
 * is started after a reboot is connected as it was.
 */
final class ConnectionStore {
  static final StoredFormat FORMAT = StoredFormat.of("the connections of a container");
  private static final System.Logger LOG = LazyLogger.of(ConnectionStore.class);
  private static final String SUFFIX = ".json";

  /**
   * The connections of one container.
   *
   * @param usual whether it is on the network that it was created on
   * @param aliases further names on that network
   */
  record Connected(boolean usual, List<String> aliases, List<Connection> others) {
    static final Connected NONE = new Connected(true, List.of(), List.of());

    Connected {
      aliases = List.copyOf(aliases);
      others = List.copyOf(others);
    }

    Connected withUsual(boolean usual, List<String> aliases) {
      return new Connected(usual, aliases, others);
    }

    /** With this one instead of what its network had. */
    Connected with(Connection connection) {
      var changed = new ArrayList<>(without(connection.network()).others);
      changed.add(connection);
      return new Connected(usual, aliases, changed);
    }

    Connected without(String network) {
      return new Connected(
          usual,
          aliases,
          others.stream().filter(other -> !other.network().equals(network)).toList());
    }
  }

  private final Path directory;

  private ConnectionStore(Path directory) {
    this.directory = directory;
  }

  static ConnectionStore open(NetworkConfig config) throws IOException {
    return new ConnectionStore(
        Files.createDirectories(config.stateDirectory().resolve("connections")));
  }

  Map<String, Connected> load() throws IOException {
    var all = new HashMap<String, Connected>();
    try (var files = Files.list(directory)) {
      for (Path file : files.filter(file -> file.toString().endsWith(SUFFIX)).toList()) {
        String name = file.getFileName().toString();
        try {
          all.put(name.substring(0, name.length() - SUFFIX.length()), read(file));
        } catch (AgentException | IllegalArgumentException | NoSuchElementException e) {
          Path aside = file.resolveSibling(name + ".damaged");
          Files.move(file, aside, StandardCopyOption.REPLACE_EXISTING);
          LOG.log(
              System.Logger.Level.ERROR,
              "%s cannot be read and was moved to %s, connect the container again: %s"
                  .formatted(file, aside, e.getMessage()));
        }
      }
    }
    return all;
  }

  private static Connected read(Path file) throws IOException {
    Json json = FORMAT.upgrade(JsonText.parse(Files.readAllBytes(file)), file);
    return new Connected(
        json.at("usual").bool().orElse(true),
        json.at("aliases").strings(),
        json.at("others").items().stream()
            .flatMap(other -> Connection.parse(other, file).stream())
            .toList());
  }

  static Json json(Connected connected) {
    return FORMAT
        .begin()
        .put("usual", connected.usual())
        .put("aliases", connected.aliases())
        .put("others", connected.others().stream().map(Connection::json).toList())
        .build();
  }

  void save(String container, Connected connected) {
    Path file = directory.resolve(container + SUFFIX);
    try {
      if (connected.equals(Connected.NONE)) {
        Files.deleteIfExists(file);
      } else {
        AtomicFile.write(file, JsonText.bytes(json(connected)));
      }
    } catch (IOException e) {
      throw new AgentException.Network(
          "cannot record the networks of a container in %s: %s".formatted(file, e.getMessage()), e);
    }
  }
}
