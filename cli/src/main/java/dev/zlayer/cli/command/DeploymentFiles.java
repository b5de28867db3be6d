package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.compose.ComposeFile;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.read.JobReader;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Finds and reads deployment files; a file that is far too large is not read whole. */
public final class DeploymentFiles {
  private static final String SUFFIX = ".zlayer.yml";

  /** One byte over what the reader accepts is enough for it to refuse. */
  private static final int MOST_BYTES = 2 << 20;

  private DeploymentFiles() {}

  /**
   * A file that was found to be right.
   *
   * @param directory where its relative paths start
   */
  @SuppressWarnings("ArrayRecordComponent") // bytes to send, never compared
  public record Loaded(String name, byte[] content, Path directory) {}

  /**
   * Reads and checks a file, so that its problems are told with their positions before anybody is
   * asked.
   *
   * @throws AgentException.InvalidSpec with every problem, one per line
   */
  public static Loaded load(Session session, Optional<String> file) {
    String name = file.orElseGet(() -> onlyOneIn(session.directory()));
    byte[] content = read(session, name);
    if (ComposeFile.recognised(content)) {
      Path directory = directoryOf(session, name);
      content =
          ComposeFiles.complete(
              ComposeFiles.convert(session, name, content, directory, Optional.empty(), Set.of()),
              session);
    }
    return checked(session, name, content);
  }

  private static Loaded checked(Session session, String name, byte[] content) {
    return switch (SpecReader.read(name, content)) {
      case SpecResult.Invalid(var problems) ->
          throw new AgentException.InvalidSpec(
              problems.stream().map(Problem::toString).collect(Collectors.joining("\n"))
                  + "\nnothing was changed");
      case SpecResult.Valid valid ->
          new Loaded(valid.spec().deployment(), content, directoryOf(session, name));
    };
  }

  /**
   * Reads and checks the file of a job that belongs to no deployment.
   *
   * @param job which of several, or how to call it
   */
  public static Loaded loadJob(Session session, String file, Optional<String> job) {
    byte[] content = read(session, file);
    JobReader.JobFile read = JobReader.read(file, content, job);
    return new Loaded(read.name(), content, directoryOf(session, file));
  }

  static Path directoryOf(Session session, String name) {
    Path directory = session.directory().toAbsolutePath();
    if (name.equals("-")) {
      return directory;
    }
    Path parent = session.resolve(name).toAbsolutePath().normalize().getParent();
    return parent == null ? directory : parent;
  }

  /** The name of the only deployment file of a directory, else of its Compose file. */
  static String onlyOneIn(Path directory) {
    List<String> found;
    try (Stream<Path> files = Files.list(directory)) {
      found =
          files
              .map(file -> file.getFileName().toString())
              .filter(name -> name.endsWith(SUFFIX))
              .sorted()
              .toList();
    } catch (IOException e) {
      throw new AgentException.InvalidSpec("cannot list " + directory + ": " + e.getMessage(), e);
    }
    return switch (found.size()) {
      case 1 -> found.getFirst();
      case 0 ->
          ComposeFiles.in(directory)
              .orElseThrow(
                  () ->
                      new AgentException.NotFound(
                          "deployment file",
                          "there is no *" + SUFFIX + " in " + directory + ", name one"));
      default ->
          throw new AgentException.InvalidSpec(
              "several deployment files in this directory; name one: " + String.join(", ", found));
    };
  }

  static byte[] read(Session session, String name) {
    try (InputStream in =
        name.equals("-") ? session.in() : Files.newInputStream(session.resolve(name))) {
      return in.readNBytes(MOST_BYTES);
    } catch (NoSuchFileException _) {
      throw new AgentException.NotFound("file '" + name + "'", "there is no such file");
    } catch (IOException e) {
      throw new AgentException.InvalidSpec(
          "file '%s' cannot be read: %s".formatted(name, e.getMessage()), e);
    }
  }
}
