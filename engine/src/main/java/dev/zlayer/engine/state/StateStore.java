package dev.zlayer.engine.state;

import dev.zlayer.task.Deadline;
import java.util.List;
import java.util.Optional;

/**
 * What outlives the agent. Records are bytes under a kind and a key; events are numbered from 1
 * without gaps, and only the newest are kept.
 *
 * <p>May be used from any thread. After {@link #close} every method throws {@link
 * dev.zlayer.error.AgentException.Internal}.
 */
public interface StateStore extends AutoCloseable {
  Optional<byte[]> find(String kind, String key);

  /** All records of a kind in the order of their keys' characters. */
  default List<Entry> list(String kind) {
    return list(kind, "");
  }

  /** As {@link #list(String)}, but only records whose keys begin with {@code prefix}. */
  List<Entry> list(String kind, String prefix);

  /** The keys of {@link #list(String, String)}, without reading the values. */
  List<String> keys(String kind, String prefix);

  /**
   * Makes all of the change durable, or nothing of it; then returns the number of its last event
   * (of the last event of all when it has none). Commits of several threads share one write to the
   * disk. Not interruptible, so that the outcome is always known.
   *
   * @throws dev.zlayer.error.AgentException.Configuration the disk is full or failing; nothing was
   *     changed, and the same commit can be tried again
   */
  long commit(Change change);

  /** Events after {@code since}, oldest first, at most {@code limit}. */
  default EventPage events(long since, int limit) {
    return events(since, Optional.empty(), limit);
  }

  /** Only events about {@code subject}, if given. */
  EventPage events(long since, Optional<String> subject, int limit);

  /** Blocks until there is an event after {@code since}; false when the deadline passed first. */
  boolean awaitEvent(long since, Deadline deadline) throws InterruptedException;

  @Override
  void close();

  /** A stored record. */
  @SuppressWarnings("ArrayRecordComponent") // a value is bytes; nobody compares entries
  record Entry(String key, byte[] value) {}
}
