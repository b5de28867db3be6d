package dev.zlayer.engine.job;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.PrivatePlace;
import dev.zlayer.port.Archivable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Files that jobs asked to be kept, as one tar archive per path. */
final class ArtifactStore {
  private final Path directory;

  ArtifactStore(Path directory) {
    this.directory = directory;
  }

  /** Copies a path out of a container; keeping it again replaces it. */
  Attempt.Artifact keep(ExecutionId id, int attempt, int index, String path, Archivable container)
      throws InterruptedException {
    String name = "%d-%d.tar".formatted(attempt, index);
    Path file = directory.resolve(id.text()).resolve(name);
    Path part = file.resolveSibling(name + ".part");
    try {
      PrivatePlace.directory(directory);
      Files.createDirectories(directory.resolve(id.text()));
      try (var out = Files.newOutputStream(part)) {
        container.copyOut(path, out);
      }
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
      return new Attempt.Artifact(path, name, Files.size(file));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot keep %s: %s: check the space in %s".formatted(path, e, directory), e);
    }
  }

  InputStream open(ExecutionId id, Attempt.Artifact artifact) {
    Path file = directory.resolve(id.text()).resolve(artifact.file());
    try {
      return Files.newInputStream(file);
    } catch (NoSuchFileException _) {
      throw new AgentException.NotFound("artifact " + artifact.path(), "it is kept no longer");
    } catch (IOException e) {
      throw new AgentException.Configuration("cannot read " + file + ": " + e, e);
    }
  }

  void drop(ExecutionId id) {
    Path files = directory.resolve(id.text());
    if (!Files.isDirectory(files)) {
      return;
    }
    try (Stream<Path> below = Files.walk(files)) {
      List<Path> deepestFirst = below.sorted(Comparator.reverseOrder()).toList();
      for (Path file : deepestFirst) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw new AgentException.Configuration("cannot remove " + files + ": " + e, e);
    }
  }
}
