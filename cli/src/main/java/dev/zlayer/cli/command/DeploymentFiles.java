package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Finds and reads deployment files; a file that is far too large is not read whole. */
final class DeploymentFiles {
  private static final String SUFFIX = ".zlayer.yml";

  /** One byte over what the reader accepts is enough for it to refuse. */
  private static final int MOST_BYTES = 2 << 20;

  private DeploymentFiles() {}

  /** The name of the only deployment file of a directory. */
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
          throw new AgentException.NotFound(
              "deployment file", "there is no *" + SUFFIX + " in " + directory + ", name one");
      default ->
          throw new AgentException.InvalidSpec(
              "several deployment files are here, name one: " + String.join(", ", found));
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
