package dev.zlayer.cluster.store;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Keys and values that a majority of members has agreed on. Every change has a revision, a number
 * that only grows. All reads are linearizable: they see every change that was made before them.
 *
 * <p>Every call ends by its deadline with {@link AgentException.Timeout}, and with {@link
 * AgentException.Network} when no member answers. A change that ended in either of them may or may
 * not have been made: whoever has to know reads again.
 */
public interface ClusterStore extends AutoCloseable {
  /** No key or value of a request may be larger than this together. */
  int MOST_BYTES = 1_000_000;

  /** As many conditions and as many changes has a transaction at most. */
  int MOST_CHANGES = 120;

  /**
   * A key with its value.
   *
   * @param created the revision that made it; a key that is removed and made again has another one
   * @param modified the revision that changed it last
   * @param lease with which it ends, or 0
   */
  record Entry(String key, String value, long created, long modified, long lease) {}

  /**
   * All keys that begin with a prefix, in their order.
   *
   * @param revision as of which; a watch that continues here starts at the one after it
   */
  record Snapshot(List<Entry> entries, long revision) {
    public Snapshot {
      entries = List.copyOf(entries);
    }
  }

  /** What has to hold for a transaction to change anything. */
  sealed interface Condition {
    String key();

    /** There is no such key. */
    record Absent(String key) implements Condition {}

    /** It is there, and this revision made it: the one who made it still has it. */
    record Created(String key, long revision) implements Condition {}

    /** It is there, and this revision changed it last. */
    record Unchanged(String key, long revision) implements Condition {}
  }

  /** What a transaction does, all of it or nothing. */
  sealed interface Change {
    String key();

    /**
     * Sets a value.
     *
     * @param lease with which the key ends, or 0
     */
    record Put(String key, String value, long lease) implements Change {
      public Put(String key, String value) {
        this(key, value, 0);
      }
    }

    /** Removes a key if it is there. */
    record Delete(String key) implements Change {}

    /** Removes all keys that begin with this. */
    record DeleteAll(String key) implements Change {}
  }

  /**
   * The outcome of a transaction.
   *
   * @param applied whether all conditions held, and all changes were therefore made
   * @param revision of the changes
   */
  record Result(boolean applied, long revision) {}

  /** A change that a watch saw. */
  sealed interface Event {
    String key();

    /** It has this value now. */
    record Set(Entry entry) implements Event {
      @Override
      public String key() {
        return entry.key();
      }
    }

    /** It is no longer there: removed, or its lease ended. */
    record Removed(String key, long revision) implements Event {}
  }

  /** What a watch has to say. */
  sealed interface News {
    /** Changes in their order; none when the time was over. */
    record Events(List<Event> events) implements News {
      public Events {
        events = List.copyOf(events);
      }
    }

    /** What happened is no longer known: list again, and watch from there. */
    record Compacted() implements News {}
  }

  /** Follows the changes below a prefix; continues by itself where a connection broke. */
  interface Watch extends AutoCloseable {
    /** Returns at the first change, at the latest after the time. One thread at a time. */
    News next(Duration most) throws InterruptedException;

    @Override
    void close();
  }

  /** The value of one key. */
  Optional<Entry> find(String key, Deadline deadline) throws InterruptedException;

  /** All keys that begin with the prefix. */
  Snapshot list(String prefix, Deadline deadline) throws InterruptedException;

  /** Makes all changes when all conditions hold, else none. */
  Result transact(List<Condition> conditions, List<Change> changes, Deadline deadline)
      throws InterruptedException;

  /** Sets one value, whatever was there; returns the revision. */
  default long put(String key, String value, Deadline deadline) throws InterruptedException {
    return transact(List.of(), List.of(new Change.Put(key, value)), deadline).revision();
  }

  /** A new lease, which ends after this time without {@link #keepAlive}; never before it. */
  long grant(Duration ttl, Deadline deadline) throws InterruptedException;

  /** Starts the time of a lease again; false when it has ended. */
  boolean keepAlive(long lease, Deadline deadline) throws InterruptedException;

  /** Ends a lease with all its keys; does nothing when it has ended. */
  void revoke(long lease, Deadline deadline) throws InterruptedException;

  /** Changes of this revision and later ones. */
  Watch watch(String prefix, long from);

  /** Forgets the history before this revision. */
  void compact(long revision, Deadline deadline) throws InterruptedException;

  @Override
  void close();
}
