package dev.zlayer.engine.state;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import org.sqlite.JDBC;

/** The statements over one connection. Used by one thread after it was opened. */
final class SqliteTables implements AutoCloseable {
  private final Path file;
  private final StoreConfig config;
  private final Connection connection;
  private long firstEvent;
  private long lastEvent;

  private SqliteTables(Path file, StoreConfig config, Connection connection) throws SQLException {
    this.file = file;
    this.config = config;
    this.connection = connection;
    readCounters();
  }

  private void readCounters() throws SQLException {
    lastEvent = number("SELECT value FROM counter WHERE name = 'event'");
    firstEvent = number("SELECT coalesce(min(sequence), %d) FROM event".formatted(lastEvent + 1));
  }

  static SqliteTables open(Path file, StoreConfig config) {
    try {
      SqliteLibrary.load(file.resolveSibling("").toAbsolutePath());
      if (Files.exists(file)) {
        inspect(file);
      }
      PrivateDirectory.file(
          file); // deployment files and outputs of jobs may hold what is confidential
      Connection connection = connect(file, false);
      try {
        prepare(connection, config);
        return new SqliteTables(file, config, connection);
      } catch (SQLException | RuntimeException e) {
        connection.close();
        throw e;
      }
    } catch (SQLException e) {
      throw Sqlite.translate(file, e);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot open the state store %s: %s".formatted(file, e.getMessage()), e);
    }
  }

  /** A second connection to a file that is open, for questions only. */
  static SqliteTables reading(Path file, StoreConfig config) {
    try {
      Connection connection = connect(file, false);
      try {
        Sqlite.run(connection, "PRAGMA query_only = 1");
        return new SqliteTables(file, config, connection);
      } catch (SQLException | RuntimeException e) {
        connection.close();
        throw e;
      }
    } catch (SQLException e) {
      throw Sqlite.translate(file, e);
    }
  }

  /** On a connection of its own, so that neither writers nor readers wait for it. */
  static void copy(Path file, Path target) {
    try {
      SqliteLibrary.load(file.resolveSibling("").toAbsolutePath());
      try (Connection connection = connect(file, false);
          PreparedStatement vacuum = connection.prepareStatement("VACUUM INTO ?")) {
        vacuum.setString(1, target.toString());
        vacuum.execute();
      }
    } catch (SQLException e) {
      throw Sqlite.translate(file, e);
    }
  }

  /** Looks at the file without the right to change it. */
  private static void inspect(Path file) throws SQLException {
    try (Connection connection = connect(file, true)) {
      SqliteSchema.check(connection, file);
    }
  }

  private static Connection connect(Path file, boolean readOnly) throws SQLException {
    var properties = new Properties();
    if (readOnly) {
      properties.setProperty("open_mode", "1");
    }
    // asked itself: the manager of drivers first opens every jar in search of others
    return JDBC.createConnection("jdbc:sqlite:" + file, properties);
  }

  private static void prepare(Connection connection, StoreConfig config) throws SQLException {
    if (Sqlite.number(connection, "PRAGMA page_count") == 0) {
      // only possible before the first table; lets the file shrink when results are dropped
      Sqlite.run(connection, "PRAGMA auto_vacuum = FULL");
    }
    Sqlite.run(connection, "PRAGMA journal_mode = WAL");
    Sqlite.run(connection, "PRAGMA synchronous = FULL");
    int pageSize = Sqlite.number(connection, "PRAGMA page_size");
    long pages = Math.min(config.bytes() / pageSize, Integer.MAX_VALUE);
    Sqlite.run(connection, "PRAGMA max_page_count = " + pages);
    SqliteSchema.migrate(connection);
  }

  long lastEvent() {
    return lastEvent;
  }

  AgentException translate(SQLException e) {
    return Sqlite.translate(file, e);
  }

  Optional<byte[]> find(String kind, String key) throws SQLException {
    try (var select =
        connection.prepareStatement("SELECT value FROM record WHERE kind = ? AND key = ?")) {
      select.setString(1, kind);
      select.setString(2, key);
      try (ResultSet row = select.executeQuery()) {
        return row.next() ? Optional.of(row.getBytes(1)) : Optional.empty();
      }
    }
  }

  List<StateStore.Entry> list(String kind, String prefix) throws SQLException {
    try (var select = selectByPrefix("key, value", kind, prefix);
        ResultSet row = select.executeQuery()) {
      var entries = new ArrayList<StateStore.Entry>();
      while (row.next()) {
        entries.add(new StateStore.Entry(row.getString(1), row.getBytes(2)));
      }
      return entries;
    }
  }

  List<String> keys(String kind, String prefix) throws SQLException {
    try (var select = selectByPrefix("key", kind, prefix);
        ResultSet row = select.executeQuery()) {
      var keys = new ArrayList<String>();
      while (row.next()) {
        keys.add(row.getString(1));
      }
      return keys;
    }
  }

  /** A range of keys, so that the index of the primary key answers it. */
  private PreparedStatement selectByPrefix(String columns, String kind, String prefix)
      throws SQLException {
    var select =
        connection.prepareStatement(
            "SELECT %s FROM record WHERE kind = ? AND key >= ? AND key < ? ORDER BY key"
                .formatted(columns));
    select.setString(1, kind);
    select.setString(2, prefix);
    select.setString(3, prefix + Character.toString(Character.MAX_CODE_POINT));
    return select;
  }

  /** In one transaction, so that page and counters fit together whatever is written meanwhile. */
  EventPage events(long since, Optional<String> subject, int limit) throws SQLException {
    Sqlite.run(connection, "BEGIN");
    try {
      readCounters();
      return page(since, subject, limit);
    } finally {
      Sqlite.run(connection, "ROLLBACK");
    }
  }

  private EventPage page(long since, Optional<String> subject, int limit) throws SQLException {
    String about = subject.isPresent() ? " AND subject = ?" : "";
    try (var select =
        connection.prepareStatement(
            "SELECT sequence, at, kind, subject, detail FROM event WHERE sequence > ?"
                + about
                + " ORDER BY sequence LIMIT ?")) {
      select.setLong(1, since);
      if (subject.isPresent()) {
        select.setString(2, subject.get());
      }
      select.setInt(subject.isPresent() ? 3 : 2, limit);
      var events = new ArrayList<EventPage.Numbered>();
      try (ResultSet row = select.executeQuery()) {
        while (row.next()) {
          events.add(new EventPage.Numbered(row.getLong(1), event(row)));
        }
      }
      return new EventPage(events, since, firstEvent, lastEvent);
    }
  }

  private static Event event(ResultSet row) throws SQLException {
    return new Event(
        Instant.parse(row.getString(2)),
        row.getString(3),
        row.getString(4),
        JsonText.parse(row.getString(5)));
  }

  /** One transaction; returns the number of the last event after each change. */
  List<Long> commit(List<Change> changes) {
    long first = firstEvent;
    long last = lastEvent;
    try {
      Sqlite.run(connection, "BEGIN IMMEDIATE");
      List<Long> sequences = writeAll(changes);
      finishEvents(last);
      Sqlite.run(connection, "COMMIT");
      return sequences;
    } catch (SQLException e) {
      AgentException failure = translate(e);
      rollBack(first, last, failure);
      throw failure;
    } catch (RuntimeException | Error e) {
      rollBack(first, last, e);
      throw e;
    }
  }

  private void rollBack(long first, long last, Throwable failure) {
    firstEvent = first;
    lastEvent = last;
    try {
      Sqlite.run(connection, "ROLLBACK");
    } catch (SQLException again) {
      // some errors roll back by themselves; then there is nothing left to undo
      failure.addSuppressed(again);
    }
  }

  /** The statements are made anew each time: one that failed cannot be used again. */
  private List<Long> writeAll(List<Change> changes) throws SQLException {
    try (var put = connection.prepareStatement("INSERT OR REPLACE INTO record VALUES (?, ?, ?)");
        var delete = connection.prepareStatement("DELETE FROM record WHERE kind = ? AND key = ?");
        var append = connection.prepareStatement("INSERT INTO event VALUES (?, ?, ?, ?, ?)")) {
      var sequences = new ArrayList<Long>();
      for (Change change : changes) {
        for (Change.Write write : change.writes()) {
          switch (write) {
            case Change.Put(var kind, var key, var value) -> {
              put.setBytes(3, value);
              execute(put, kind, key);
            }
            case Change.Delete(var kind, var key) -> execute(delete, kind, key);
          }
        }
        for (Event event : change.events()) {
          append(append, event);
        }
        sequences.add(lastEvent);
      }
      return sequences;
    }
  }

  private static void execute(PreparedStatement write, String kind, String key)
      throws SQLException {
    write.setString(1, kind);
    write.setString(2, key);
    write.executeUpdate();
  }

  private void append(PreparedStatement append, Event event) throws SQLException {
    append.setLong(1, ++lastEvent);
    append.setString(2, event.at().toString());
    append.setString(3, event.kind());
    append.setString(4, event.subject());
    append.setString(5, JsonText.print(event.detail()));
    append.executeUpdate();
  }

  private void finishEvents(long before) throws SQLException {
    if (lastEvent == before) {
      return;
    }
    Sqlite.run(
        connection, "UPDATE counter SET value = %d WHERE name = 'event'".formatted(lastEvent));
    if (lastEvent - firstEvent + 1 > config.eventsBeforeDropping()) {
      firstEvent = lastEvent - config.events() + 1;
      Sqlite.run(connection, "DELETE FROM event WHERE sequence < " + firstEvent);
    }
  }

  private long number(String sql) throws SQLException {
    try (var statement = connection.createStatement();
        ResultSet row = statement.executeQuery(sql)) {
      return row.next() ? row.getLong(1) : 0;
    }
  }

  @Override
  public void close() {
    try {
      connection.close();
    } catch (SQLException e) {
      throw translate(e);
    }
  }
}
