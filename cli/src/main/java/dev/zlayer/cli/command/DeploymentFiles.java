package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.compose.ComposeFile;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.read.JobReader;
import dev.zlayer.spec.read.SpecResult;
import dev.zlayer.spec.source.SourceFiles;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
   * Reads and checks files, so that their problems are reported with their positions before anybody
   * is asked.
   *
   * @param file named beside those of the flags
   * @throws AgentException.InvalidSpec with every problem, one per line
   */
  public static Loaded load(Session session, Optional<String> file, SourceFlags flags) {
    List<String> names = names(session, file.map(List::of).orElse(List.of()), flags);
    SourceFiles.Resolved resolved = resolve(session, sources(session, names), flags);
    return switch (resolved.check()) {
      case SpecResult.Invalid(var problems) ->
          throw new AgentException.InvalidSpec(
              problems.stream().map(Problem::toString).collect(Collectors.joining("\n"))
                  + "\nnothing was changed");
      case SpecResult.Valid valid ->
          new Loaded(
              valid.spec().deployment(), resolved.text(), directoryOf(session, names.getFirst()));
    };
  }

  /** Those that make one deployment, or the only one of the directory. */
  static List<String> names(Session session, List<String> named, SourceFlags flags) {
    var all = new ArrayList<>(named);
    all.addAll(flags.files());
    return all.isEmpty() ? List.of(onlyOneIn(session.directory())) : all;
  }

  /** Each is read once: standard input cannot be read again. */
  static List<SourceFiles.Source> sources(Session session, List<String> names) {
    return names.stream().map(name -> new SourceFiles.Source(name, read(session, name))).toList();
  }

  /** One file for the daemon: merged, converted, with its variables. The first says which kind. */
  static SourceFiles.Resolved resolve(
      Session session, List<SourceFiles.Source> sources, SourceFlags flags) {
    Path directory = directoryOf(session, sources.getFirst().name());
    if (!ComposeFile.recognised(sources.getFirst().content())) {
      return SourceFiles.resolve(
          sources, flags.variables(session, directory), flags.profiles(session));
    }
    String name = sources.stream().map(SourceFiles.Source::name).collect(Collectors.joining(" + "));
    byte[] converted =
        ComposeFiles.complete(
            ComposeFiles.convert(
                session,
                name,
                sources.stream().map(SourceFiles.Source::content).toList(),
                directory,
                Optional.empty(),
                flags),
            session);
    return new SourceFiles.Resolved(name, converted, Optional.empty());
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

  /** A file of text that another file names, whole. */
  static String text(Session session, String name) {
    byte[] content = read(session, name);
    if (content.length >= MOST_BYTES) {
      throw new AgentException.InvalidSpec(
          "file '%s' is too large: at most %d bytes are read".formatted(name, MOST_BYTES - 1));
    }
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(content)).toString();
    } catch (CharacterCodingException e) {
      throw new AgentException.InvalidSpec(
          "file '%s' cannot be read: it is not UTF-8 text".formatted(name), e);
    }
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
