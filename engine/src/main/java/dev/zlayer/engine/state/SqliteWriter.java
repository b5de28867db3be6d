package dev.zlayer.engine.state;

import dev.zlayer.task.Owner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The connection that writes. Commits that wait at the same time become one transaction, so their
 * number per second does not depend on the disk alone; when that fails, each is tried alone.
 */
final class SqliteWriter implements Owner.State {
  private static final Duration LONG = Duration.ofDays(1);

  private final SqliteTables tables;
  private final EventNotifier bell;
  private final List<Commit> commits = new ArrayList<>();

  /** A change on its way; {@code last} is set once it is durable. */
  static final class Commit {
    private final Change change;
    private long last;

    private Commit(Change change) {
      this.change = change;
    }

    /** The number of the last event after it. */
    long last() {
      return last;
    }
  }

  SqliteWriter(SqliteTables tables, EventNotifier bell) {
    this.tables = tables;
    this.bell = bell;
  }

  Commit add(Change change) {
    var commit = new Commit(change);
    commits.add(commit);
    return commit;
  }

  @Override
  public Duration round() {
    if (!commits.isEmpty()) {
      List<Long> last = tables.commit(commits.stream().map(commit -> commit.change).toList());
      for (int i = 0; i < commits.size(); i++) {
        commits.get(i).last = last.get(i);
      }
      commits.clear();
      bell.ring(last.getLast());
    }
    return LONG;
  }

  @Override
  public boolean undo() {
    commits.clear();
    return true;
  }

  @Override
  public void close() {
    tables.close();
  }
}
