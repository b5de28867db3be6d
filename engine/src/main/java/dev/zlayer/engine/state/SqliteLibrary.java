package dev.zlayer.engine.state;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import org.sqlite.SQLiteJDBCLoader;

/**
 * The native part of SQLite, which its driver unpacks into a file to load it. The file is taken
 * away as soon as it is loaded: a process that is killed could not do it later, and a machine would
 * gather one with every kill.
 */
final class SqliteLibrary {
  private static final String PLACE = "org.sqlite.tmpdir";
  private static final String FILES = "sqlite-*libsqlitejdbc.so*";

  private static boolean loaded;

  private SqliteLibrary() {}

  /**
   * Loads it if this process has not yet.
   *
   * @param directory where the file may lie for a moment
   */
  static synchronized void load(Path directory) throws SQLException {
    if (loaded) {
      return;
    }
    System.setProperty(PLACE, directory.toString());
    try {
      loaded = SQLiteJDBCLoader.initialize();
      clear(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (Exception e) {
      throw new SQLException("the native part of SQLite cannot be loaded", e);
    }
  }

  /** Also what one left that was killed in between. */
  private static void clear(Path directory) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, FILES)) {
      for (Path file : files) {
        Files.deleteIfExists(file);
      }
    }
  }
}
