package dev.zlayer.engine.state;

import dev.zlayer.task.Owner;
import java.sql.SQLException;
import java.time.Duration;

/** A connection that only reads, beside the one that writes and never in its way. */
final class SqliteReader implements Owner.State {
  private static final Duration LONG = Duration.ofDays(1);

  private final SqliteTables tables;

  /** A question to the tables. */
  @FunctionalInterface
  interface Question<T> {
    T ask(SqliteTables tables) throws SQLException;
  }

  SqliteReader(SqliteTables tables) {
    this.tables = tables;
  }

  <T> T read(Question<T> question) {
    try {
      return question.ask(tables);
    } catch (SQLException e) {
      throw tables.translate(e);
    }
  }

  @Override
  public Duration round() {
    return LONG;
  }

  /** A question changes nothing. */
  @Override
  public boolean undo() {
    return true;
  }

  @Override
  public void close() {
    tables.close();
  }
}
