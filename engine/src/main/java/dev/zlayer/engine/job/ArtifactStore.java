package dev.zlayer.engine.job;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.port.Archivable;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.tar.LimitedOutput;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Files that jobs asked to be kept, as one tar archive per path. What {@link #keep} returned is
 * whole and on the disk, so that a result may name it.
 */
final class ArtifactStore {
  private final Path directory;
  private final Disk disk;

  /** What makes writing outlast a loss of power. */
  interface Disk {
    void syncFile(Path file) throws IOException;

    void syncDirectory(Path directory) throws IOException;
  }

  private static final Disk REAL =
      new Disk() {
        @Override
        public void syncFile(Path file) throws IOException {
          AtomicFile.syncFile(file);
        }

        @Override
        public void syncDirectory(Path directory) throws IOException {
          AtomicFile.syncDirectory(directory);
        }
      };

  ArtifactStore(Path directory) {
    this(directory, REAL);
  }

  ArtifactStore(Path directory, Disk disk) {
    this.directory = directory;
    this.disk = disk;
  }

  /** Copies a path out of a container; keeping it again replaces it. */
  Attempt.Artifact keep(
      ExecutionId id,
      int attempt,
      int index,
      String path,
      Archivable container,
      ByteSize maxArtifactSize)
      throws InterruptedException {
    String name = "%d-%d.tar".formatted(attempt, index);
    try {
      write(
          id,
          name,
          out ->
              container.copyOut(
                  path, new LimitedOutput(out, maxArtifactSize, "raise max_artifact_size")));
      return new Attempt.Artifact(path, name, Files.size(path(id, name)));
    } catch (IOException e) {
      throw cannotKeep(path, e);
    }
  }

  /** Writes a file of an execution. */
  @FunctionalInterface
  interface Content {
    void writeTo(OutputStream out) throws IOException, InterruptedException;
  }

  /** Keeps a file that is dropped together with the artifacts of its execution. */
  void keep(ExecutionId id, String name, Content content) throws InterruptedException {
    try {
      write(id, name, content);
    } catch (IOException e) {
      throw cannotKeep(name, e);
    }
  }

  /** Where a file of an execution is. */
  Path path(ExecutionId id, String name) {
    return directory.resolve(id.text()).resolve(name);
  }

  private AgentException cannotKeep(String what, IOException e) {
    return new AgentException.Configuration(
        "cannot keep %s: %s: check the space in %s".formatted(what, e, directory), e);
  }

  private void write(ExecutionId id, String name, Content content)
      throws IOException, InterruptedException {
    Path place = directory.resolve(id.text());
    Path part = place.resolve(name + ".part");
    PrivateDirectory.directory(directory);
    Files.createDirectories(place);
    try {
      try (var out = Files.newOutputStream(part)) {
        content.writeTo(out);
      }
      publish(place, part, place.resolve(name));
    } finally {
      Files.deleteIfExists(part); // retention does not count what nobody can fetch
    }
  }

  private void publish(Path place, Path part, Path file) throws IOException {
    disk.syncFile(part);
    Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    disk.syncDirectory(place);
    disk.syncDirectory(directory);
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
    } catch (IOException | UncheckedIOException e) {
      throw new AgentException.Configuration("cannot remove " + files + ": " + e, e);
    }
  }

  /** Drops what a kill between forgetting an execution and dropping its files left. */
  void dropUnless(Predicate<ExecutionId> known) {
    if (!Files.isDirectory(directory)) {
      return;
    }
    List<ExecutionId> there;
    try (Stream<Path> places = Files.list(directory)) {
      there =
          places
              .map(place -> place.getFileName().toString())
              .filter(ExecutionId::fits)
              .map(ExecutionId::new)
              .toList();
    } catch (IOException e) {
      throw new AgentException.Configuration("cannot list " + directory + ": " + e, e);
    }
    there.stream().filter(known.negate()).forEach(this::drop);
  }
}
