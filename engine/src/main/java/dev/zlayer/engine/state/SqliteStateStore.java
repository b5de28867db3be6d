package dev.zlayer.engine.state;

import dev.zlayer.task.Deadline;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * State in one SQLite file. What was committed survives a kill of the process and a loss of power;
 * a store of an earlier version is brought up to date when it is opened.
 */
public final class SqliteStateStore implements StateStore {
  private final SqliteLoop loop;
  private final EventBell bell;

  private SqliteStateStore(SqliteLoop loop, EventBell bell) {
    this.loop = loop;
    this.bell = bell;
  }

  /**
   * Opens or makes the store; its directory has to exist.
   *
   * @throws dev.zlayer.error.AgentException.Configuration the file is of a newer version, of
   *     another program, damaged, in use or cannot be written; it is left as it was
   */
  public static SqliteStateStore open(Path file, StoreConfig config) {
    SqliteTables tables = SqliteTables.open(file, config);
    var bell = new EventBell(tables.lastEvent());
    return new SqliteStateStore(new SqliteLoop(tables, bell), bell);
  }

  @Override
  public Optional<byte[]> find(String kind, String key) {
    return loop.read(tables -> tables.find(kind, key));
  }

  @Override
  public List<Entry> list(String kind, String prefix) {
    return loop.read(tables -> tables.list(kind, prefix));
  }

  @Override
  public List<String> keys(String kind, String prefix) {
    return loop.read(tables -> tables.keys(kind, prefix));
  }

  @Override
  public long commit(Change change) {
    return loop.commit(change);
  }

  @Override
  public EventPage events(long since, Optional<String> subject, int limit) {
    return loop.read(tables -> tables.events(since, subject, limit));
  }

  @Override
  public boolean awaitEvent(long since, Deadline deadline) throws InterruptedException {
    return bell.await(since, deadline);
  }

  @Override
  public void close() {
    loop.close();
  }
}
