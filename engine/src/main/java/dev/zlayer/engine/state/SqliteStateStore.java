package dev.zlayer.engine.state;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * State in one SQLite file. What was committed survives a kill of the process and a loss of power;
 * a store of an earlier version is brought up to date when it is opened. One connection writes, a
 * second one reads what is committed, so that readers do not hold up writers.
 */
public final class SqliteStateStore implements StateStore {
  private final Owner<SqliteWriter> writer;
  private final Owner<SqliteReader> reader;
  private final EventNotifier bell = new EventNotifier(0);
  private volatile boolean closed;

  private SqliteStateStore(Path file, StoreConfig config, Supervisor supervisor) {
    this.writer =
        Owner.ofNative(
            "the state store",
            TimeSource.monotonic(),
            supervisor,
            (_, _) -> {
              SqliteTables tables = SqliteTables.open(file, config);
              bell.ring(tables.lastEvent());
              return new SqliteWriter(tables, bell);
            });
    this.reader =
        Owner.ofNative(
            "the state store's reader",
            TimeSource.monotonic(),
            supervisor,
            (_, _) -> new SqliteReader(SqliteTables.reading(file, config)));
  }

  /** As below, for a store on its own. */
  public static SqliteStateStore open(Path file, StoreConfig config) {
    return open(file, config, new Supervisor());
  }

  /**
   * Opens or makes the store; its directory has to exist.
   *
   * @throws dev.zlayer.error.AgentException.Configuration the file is of a newer version, of
   *     another program, damaged, in use or cannot be written; it is left as it was
   */
  public static SqliteStateStore open(Path file, StoreConfig config, Supervisor supervisor) {
    var store = new SqliteStateStore(file, config, supervisor);
    try {
      store.writer.start();
      store.reader.start();
      return store;
    } catch (InterruptedException e) {
      store.close();
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while the state store was opened", e);
    } catch (RuntimeException e) {
      store.close();
      throw e;
    }
  }

  /** The newest version of the tables that this program knows. */
  public static int version() {
    return SqliteSchema.VERSION;
  }

  /**
   * Copies a store as it is at one moment, also while it is open and written. Takes as long as the
   * store is large; for a platform thread.
   *
   * @param target must not exist
   */
  public static void copy(Path file, Path target) {
    SqliteTables.copy(file, target);
  }

  @Override
  public Optional<byte[]> find(String kind, String key) {
    return read(tables -> tables.find(kind, key));
  }

  @Override
  public List<Entry> list(String kind, String prefix) {
    return read(tables -> tables.list(kind, prefix));
  }

  @Override
  public List<String> keys(String kind, String prefix) {
    return read(tables -> tables.keys(kind, prefix));
  }

  @Override
  public long commit(Change change) {
    return writer.ask(tables -> tables.add(change)).last();
  }

  @Override
  public EventPage events(long since, Optional<String> subject, int limit) {
    return read(tables -> tables.events(since, subject, limit));
  }

  private <T> T read(SqliteReader.Question<T> question) {
    if (closed) {
      throw new AgentException.Internal("the state store is closed");
    }
    return reader.ask(connection -> connection.read(question));
  }

  @Override
  public boolean awaitEvent(long since, Deadline deadline) throws InterruptedException {
    return bell.await(since, deadline);
  }

  /** Finishes what was asked before. */
  @Override
  public void close() {
    closed = true;
    reader.finish();
    writer.finish();
  }
}
