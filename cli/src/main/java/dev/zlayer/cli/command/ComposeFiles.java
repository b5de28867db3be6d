package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.compose.ComposeFile;
import dev.zlayer.spec.problem.Problem;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Compose files on the disk: finds them, and converts them with the files that they name. */
final class ComposeFiles {
  /** The names that Compose looks for, in its order. */
  static final List<String> NAMES =
      List.of("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml");

  private ComposeFiles() {}

  /** The Compose file of a directory. */
  static Optional<String> in(Path directory) {
    return NAMES.stream().filter(name -> Files.isRegularFile(directory.resolve(name))).findFirst();
  }

  /** {@code directory}: where its relative paths start. */
  static ComposeFile.Converted convert(
      Session session,
      String file,
      List<byte[]> contents,
      Path directory,
      Optional<String> name,
      SourceFlags flags) {
    Path last = directory.toAbsolutePath().normalize().getFileName();
    return ComposeFile.convert(
        file,
        contents,
        new ComposeFile.Surroundings(
            last == null ? "compose" : last.toString(),
            name.or(() -> session.variable("COMPOSE_PROJECT_NAME")),
            flags.profiles(session),
            flags.variables(session, directory),
            path -> read(session, directory, path)));
  }

  /** The converted file for the daemon; refused when something of it would be lost. */
  static byte[] complete(ComposeFile.Converted converted, Session session) {
    converted.warnings().forEach(warning -> session.err().println("warning: " + warning));
    if (!converted.unsupported().isEmpty()) {
      throw new AgentException.InvalidSpec(
          converted.unsupported().stream().map(Problem::toString).collect(Collectors.joining("\n"))
              + "\nnothing was changed; 'zlayer convert' writes a deployment file to edit");
    }
    return converted.text().getBytes(StandardCharsets.UTF_8);
  }

  private static Optional<String> read(Session session, Path directory, String name) {
    try {
      Path path = directory.resolve(name);
      return Files.isRegularFile(path)
          ? Optional.of(DeploymentFiles.text(session, path.toString()))
          : Optional.empty();
    } catch (InvalidPathException e) {
      throw new AgentException.InvalidSpec("'%s' is not a path".formatted(name), e);
    }
  }
}
