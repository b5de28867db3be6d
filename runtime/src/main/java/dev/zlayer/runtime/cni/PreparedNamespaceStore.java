package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Namespaces;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;

/**
 * One file per slot, in a directory per phase: a slot passes from one phase to the next by a
 * rename, so a kill at any point leaves it in exactly one. Nothing is synced: namespaces do not
 * outlive the kernel, so neither need their records.
 */
final class PreparedNamespaceStore {
  /**
   * Held ones are named by their container and their id, so that both are known when the content is
   * damaged; all others by their id. Earlier versions named held ones by their container alone.
   */
  enum Phase {
    MAKING("making"),
    READY("ready"),
    HELD("held"),
    LEAVING("leaving");

    private final String directory;

    Phase(String directory) {
      this.directory = directory;
    }
  }

  /**
   * A slot on disk.
   *
   * @param key its container when it is held, otherwise its id
   * @param damage why its record cannot be read
   */
  record Found(Phase phase, String key, PreparedNamespace slot, Optional<String> damage) {}

  private static final System.Logger LOG = LazyLogger.of(PreparedNamespaceStore.class);
  private static final String SUFFIX = ".json";
  private static final String SEPARATOR = "@";
  private static final String TEMPORARY = ".tmp";

  private final Path directory;
  private final Path namespaces;

  private PreparedNamespaceStore(Path directory, Path namespaces) {
    this.directory = directory;
    this.namespaces = namespaces;
  }

  static PreparedNamespaceStore open(NetworkConfig config) throws IOException {
    var store = new PreparedNamespaceStore(config.attachments(), config.namespaces());
    for (Phase phase : Phase.values()) {
      Path own = Files.createDirectories(store.directory.resolve(phase.directory));
      try (var files = Files.newDirectoryStream(own, "*" + TEMPORARY)) {
        for (Path halfWritten : files) {
          Files.delete(halfWritten);
        }
      }
    }
    Files.createDirectories(config.namespaces());
    return store;
  }

  /** Before anything of the slot exists. */
  void begin(PreparedNamespace slot) {
    write(file(Phase.MAKING, slot.id()), slot);
  }

  /** When it is complete. */
  void ready(PreparedNamespace slot) {
    write(file(Phase.MAKING, slot.id()), slot);
    move(Phase.MAKING, slot.id(), Phase.READY, slot.id());
  }

  /** From now on it is the container's. Without ports this is a rename and nothing else. */
  void hold(PreparedNamespace slot, String name) {
    if (!slot.ports().isEmpty()) {
      write(file(Phase.READY, slot.id()), slot);
    }
    move(Phase.READY, slot.id(), Phase.HELD, name + SEPARATOR + slot.id());
  }

  /** What is held by a container has changed. */
  void update(PreparedNamespace slot, String name) {
    write(file(Phase.HELD, name + SEPARATOR + slot.id()), slot);
  }

  /** From now on it is to be taken down, whatever happens to the agent. */
  void leave(Phase from, String key, PreparedNamespace slot) {
    String name = key + SEPARATOR + slot.id();
    boolean both = from == Phase.HELD && Files.exists(file(from, name));
    move(from, both ? name : key, Phase.LEAVING, slot.id());
  }

  /** When nothing of it is left. */
  void forget(PreparedNamespace slot) throws IOException {
    Files.deleteIfExists(file(Phase.LEAVING, slot.id()));
  }

  List<Found> load() throws IOException {
    var found = new ArrayList<Found>();
    for (Phase phase : Phase.values()) {
      try (var files = Files.list(directory.resolve(phase.directory))) {
        for (Path file : files.sorted().toList()) {
          String name = file.getFileName().toString();
          if (name.endsWith(SUFFIX)) {
            read(phase, file, name.substring(0, name.length() - SUFFIX.length()))
                .ifPresent(found::add);
          }
        }
      }
    }
    return found;
  }

  /** Empty when it went on to another phase while we looked. */
  private Optional<Found> read(Phase phase, Path file, String name) throws IOException {
    int at = phase == Phase.HELD ? name.lastIndexOf(SEPARATOR) : -1;
    String key = at < 0 ? name : name.substring(0, at);
    String id = name.substring(at + 1);
    String damage = "it is not a record of ours";
    try {
      Optional<PreparedNamespace> slot =
          PreparedNamespace.parse(JsonText.parse(Files.readAllBytes(file)), file);
      if (slot.isPresent()) {
        return Optional.of(new Found(phase, key, slot.get(), Optional.empty()));
      }
    } catch (NoSuchFileException _) {
      return Optional.empty();
    } catch (AgentException.InvalidSpec | IllegalArgumentException | NoSuchElementException e) {
      damage = String.valueOf(e.getMessage());
    }
    LOG.log(
        System.Logger.Level.ERROR,
        "the record of a network namespace in %s is damaged: %s".formatted(file, damage));
    return Optional.of(
        new Found(
            phase, key, PreparedNamespace.bare(id, namespaces.resolve(id)), Optional.of(damage)));
  }

  private void write(Path file, PreparedNamespace slot) {
    Path temporary = file.resolveSibling(file.getFileName() + TEMPORARY);
    try {
      Files.write(temporary, JsonText.bytes(slot.json()));
      Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw failed(file, e);
    }
  }

  private void move(Phase from, String oldKey, Phase to, String newKey) {
    Path source = file(from, oldKey);
    try {
      Files.move(source, file(to, newKey), StandardCopyOption.ATOMIC_MOVE);
    } catch (NoSuchFileException e) {
      throw new AgentException.Internal("the record of a namespace vanished: " + source, e);
    } catch (IOException e) {
      throw failed(source, e);
    }
  }

  private Path file(Phase phase, String key) {
    return directory.resolve(phase.directory).resolve(key + SUFFIX);
  }

  private static AgentException failed(Path file, IOException cause) {
    return new AgentException.Network(
        "cannot record a network namespace in %s: %s".formatted(file, cause.getMessage()), cause);
  }

  /** Deletes namespaces that no record knows. */
  static void sweep(Path namespaces, Set<String> known) throws IOException {
    try (var files = Files.list(namespaces)) {
      for (Path file : files.toList()) {
        if (!known.contains(file.getFileName().toString())) {
          Namespaces.delete(file);
        }
      }
    }
  }
}
