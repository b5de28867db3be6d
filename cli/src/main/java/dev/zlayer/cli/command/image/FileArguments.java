package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Files named on the command line; {@code -} is standard input. */
public final class FileArguments {
  private FileArguments() {}

  public static InputStream input(Session session, String name) throws IOException {
    if (name.equals("-")) {
      if (session.keyboard()) {
        throw new AgentException.InvalidSpec("provide the archive on standard input or as a file");
      }
      return new FilterInputStream(session.in()) {
        @Override
        public void close() {
          // standard input belongs to the process
        }
      };
    }
    Path file = session.resolve(name);
    try {
      return new BufferedInputStream(Files.newInputStream(file), 1 << 16);
    } catch (NoSuchFileException _) {
      throw new AgentException.NotFound("file '" + name + "'", "there is no such file");
    } catch (IOException e) {
      throw new AgentException.InvalidSpec(
          "file '%s' cannot be read: %s".formatted(name, e.getMessage()), e);
    }
  }
}
