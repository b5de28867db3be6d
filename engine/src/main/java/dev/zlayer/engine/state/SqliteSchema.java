package dev.zlayer.engine.state;

import dev.zlayer.error.AgentException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

/**
 * The tables, as the steps from one version to the next. A step that was released is never changed;
 * a change is a further step, with a store of the version before it kept for the tests.
 */
final class SqliteSchema {
  /** Marks the file as ours: "zlay". */
  private static final int APPLICATION = 0x7a6c6179;

  private static final List<List<String>> STEPS =
      List.of(
          List.of(
              "CREATE TABLE record (kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,"
                  + " PRIMARY KEY (kind, key)) WITHOUT ROWID",
              "CREATE TABLE event (sequence INTEGER PRIMARY KEY, at TEXT NOT NULL,"
                  + " kind TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL)",
              // survives the dropping of all events
              "CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
              "INSERT INTO counter VALUES ('event', 0)"),
          // asking for the events of one execution must not read all of them
          List.of("CREATE INDEX event_subject ON event (subject, sequence)"));

  static final int VERSION = STEPS.size();

  private SqliteSchema() {}

  /** Throws {@link AgentException.Configuration} when the file must not be touched by us. */
  static void check(Connection connection, Path file) throws SQLException {
    int version = Sqlite.number(connection, "PRAGMA user_version");
    int application = Sqlite.number(connection, "PRAGMA application_id");
    if (version > VERSION) {
      throw new AgentException.Configuration(
          "the state store %s has version %d and this program knows versions up to %d: start the newer program again, or restore a copy made before it ran"
              .formatted(file, version, VERSION));
    }
    boolean empty = Sqlite.number(connection, "SELECT count(*) FROM sqlite_schema") == 0;
    if (application != APPLICATION && !(empty && application == 0)) {
      throw new AgentException.Configuration(
          "%s is a database of another program: choose another data directory".formatted(file));
    }
  }

  /** Brings the tables up to date; all steps become durable together. */
  static void migrate(Connection connection) throws SQLException {
    int version = Sqlite.number(connection, "PRAGMA user_version");
    if (version == VERSION) {
      return;
    }
    Sqlite.run(connection, "BEGIN IMMEDIATE");
    for (List<String> step : STEPS.subList(version, VERSION)) {
      for (String statement : step) {
        Sqlite.run(connection, statement);
      }
    }
    Sqlite.run(connection, "PRAGMA application_id = " + APPLICATION);
    Sqlite.run(connection, "PRAGMA user_version = " + VERSION);
    Sqlite.run(connection, "COMMIT");
  }
}
