package dev.zlayer.cluster.store;

import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A part of a store, all keys of which begin with a prefix that its users do not see. */
public final class PrefixedStore implements ClusterStore {
  private final ClusterStore store;
  private final String prefix;

  public PrefixedStore(ClusterStore store, String prefix) {
    this.store = store;
    this.prefix = prefix;
  }

  @Override
  public Optional<Entry> find(String key, Deadline deadline) throws InterruptedException {
    return store.find(prefix + key, deadline).map(this::seen);
  }

  @Override
  public Snapshot list(String part, Deadline deadline) throws InterruptedException {
    Snapshot all = store.list(prefix + part, deadline);
    return new Snapshot(all.entries().stream().map(this::seen).toList(), all.revision());
  }

  @Override
  public Result transact(List<Condition> conditions, List<Change> changes, Deadline deadline)
      throws InterruptedException {
    return store.transact(
        conditions.stream().map(this::stored).toList(),
        changes.stream().map(this::stored).toList(),
        deadline);
  }

  private Condition stored(Condition condition) {
    return switch (condition) {
      case Condition.Absent(String key) -> new Condition.Absent(prefix + key);
      case Condition.Created(String key, long revision) ->
          new Condition.Created(prefix + key, revision);
      case Condition.Unchanged(String key, long revision) ->
          new Condition.Unchanged(prefix + key, revision);
    };
  }

  private Change stored(Change change) {
    return switch (change) {
      case Change.Put(String key, String value, long lease) ->
          new Change.Put(prefix + key, value, lease);
      case Change.Delete(String key) -> new Change.Delete(prefix + key);
      case Change.DeleteAll(String key) -> new Change.DeleteAll(prefix + key);
    };
  }

  private Entry seen(Entry entry) {
    return new Entry(
        unprefixed(entry.key()), entry.value(), entry.created(), entry.modified(), entry.lease());
  }

  private String unprefixed(String key) {
    return key.substring(prefix.length());
  }

  @Override
  public long grant(Duration ttl, Deadline deadline) throws InterruptedException {
    return store.grant(ttl, deadline);
  }

  @Override
  public boolean keepAlive(long lease, Deadline deadline) throws InterruptedException {
    return store.keepAlive(lease, deadline);
  }

  @Override
  public void revoke(long lease, Deadline deadline) throws InterruptedException {
    store.revoke(lease, deadline);
  }

  @Override
  public Watch watch(String part, long from) {
    Watch watch = store.watch(prefix + part, from);
    return new Watch() {
      @Override
      public News next(Duration most) throws InterruptedException {
        return watch.next(most) instanceof News.Events(List<Event> events)
            ? new News.Events(events.stream().map(PrefixedStore.this::seen).toList())
            : new News.Compacted();
      }

      @Override
      public void close() {
        watch.close();
      }
    };
  }

  private Event seen(Event event) {
    return switch (event) {
      case Event.Set(Entry entry) -> new Event.Set(seen(entry));
      case Event.Removed(String key, long revision) -> new Event.Removed(unprefixed(key), revision);
    };
  }

  /** Of all its users: a history belongs to the whole store. */
  @Override
  public void compact(long revision, Deadline deadline) throws InterruptedException {
    store.compact(revision, deadline);
  }

  @Override
  public void close() {
    store.close();
  }
}
