package dev.zlayer.engine.state;

import dev.zlayer.error.AgentException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/** Small steps over JDBC, and what its errors mean. */
final class Sqlite {
  private Sqlite() {}

  static void run(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  static int number(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(sql)) {
      return row.next() ? row.getInt(1) : 0;
    }
  }

  /** What happened to the store, in words that say what to do. */
  static AgentException translate(Path file, SQLException e) {
    int code = e instanceof SQLiteException known ? known.getResultCode().code & 0xff : 0;
    if (code == SQLiteErrorCode.SQLITE_FULL.code) {
      return new AgentException.Configuration(
          "no space is left for the state store %s: free some; the change was not made and nothing else was lost"
              .formatted(file),
          e);
    }
    if (code == SQLiteErrorCode.SQLITE_NOTADB.code || code == SQLiteErrorCode.SQLITE_CORRUPT.code) {
      return new AgentException.Configuration(
          "the state store %s is damaged: restore a copy, or move it away to begin anew"
              .formatted(file),
          e);
    }
    if (code == SQLiteErrorCode.SQLITE_BUSY.code || code == SQLiteErrorCode.SQLITE_LOCKED.code) {
      return new AgentException.Configuration(
          "the state store %s is in use: stop the other agent first".formatted(file), e);
    }
    return new AgentException.Configuration(
        "the state store %s cannot be used: %s".formatted(file, e.getMessage()), e);
  }
}
