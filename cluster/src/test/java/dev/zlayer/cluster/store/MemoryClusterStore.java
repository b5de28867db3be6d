package dev.zlayer.cluster.store;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** The store in memory, for tests of what is decided on it. It passes the same contract. */
public final class MemoryClusterStore implements ClusterStore {
  private record Past(long revision, Event event) {}

  private record Lease(Duration ttl, Deadline end) {}

  private final ReentrantLock lock = new ReentrantLock();
  private final java.util.concurrent.locks.Condition changed = lock.newCondition();
  private final TreeMap<String, Entry> entries = new TreeMap<>();
  private final Map<Long, Lease> leases = new HashMap<>();
  private final List<Past> history = new ArrayList<>();
  private long revision = 1;
  private long compacted;
  private long lastLease = 100;

  public MemoryClusterStore() {}

  /** What is restored from a backup of the other one as it is now; leases are not in it. */
  public MemoryClusterStore(MemoryClusterStore other) {
    other.lock.lock();
    try {
      entries.putAll(other.entries);
      revision = other.revision;
      compacted = revision;
    } finally {
      other.lock.unlock();
    }
  }

  @Override
  public Optional<Entry> find(String key, Deadline deadline) {
    lock.lock();
    try {
      expire();
      return Optional.ofNullable(entries.get(key));
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Snapshot list(String prefix, Deadline deadline) {
    lock.lock();
    try {
      expire();
      return new Snapshot(
          entries.values().stream().filter(entry -> entry.key().startsWith(prefix)).toList(),
          revision);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Result transact(List<Condition> conditions, List<Change> changes, Deadline deadline) {
    lock.lock();
    try {
      expire();
      long bytes =
          changes.stream()
              .mapToLong(one -> one instanceof Change.Put put ? put.value().length() : 0)
              .sum();
      if (bytes > MOST_BYTES || Math.max(conditions.size(), changes.size()) > MOST_CHANGES) {
        throw new AgentException.InvalidSpec("a change is larger than the cluster stores at once");
      }
      if (!conditions.stream().allMatch(this::holds)) {
        return new Result(false, revision);
      }
      for (Change change : changes) {
        if (change instanceof Change.Put put
            && put.lease() != 0
            && !leases.containsKey(put.lease())) {
          throw new AgentException.Conflict("the lease of a key has ended");
        }
      }
      if (!changes.isEmpty()) {
        long next = revision + 1;
        changes.forEach(change -> apply(change, next));
        changed.signalAll();
      }
      return new Result(true, revision);
    } finally {
      lock.unlock();
    }
  }

  private boolean holds(Condition condition) {
    Entry entry = entries.get(condition.key());
    return switch (condition) {
      case Condition.Absent _ -> entry == null;
      case Condition.Created(_, long at) -> entry != null && entry.created() == at;
      case Condition.Unchanged(_, long at) -> entry != null && entry.modified() == at;
    };
  }

  private void apply(Change change, long next) {
    switch (change) {
      case Change.Put(String key, String value, long lease) -> {
        Entry before = entries.get(key);
        var entry = new Entry(key, value, before == null ? next : before.created(), next, lease);
        entries.put(key, entry);
        note(next, new Event.Set(entry));
      }
      case Change.Delete(String key) -> {
        if (entries.remove(key) != null) {
          note(next, new Event.Removed(key, next));
        }
      }
      case Change.DeleteAll(String prefix) ->
          entries.keySet().stream()
              .filter(key -> key.startsWith(prefix))
              .toList()
              .forEach(key -> apply(new Change.Delete(key), next));
    }
  }

  private void note(long at, Event event) {
    revision = at;
    history.add(new Past(at, event));
  }

  @Override
  public long grant(Duration ttl, Deadline deadline) {
    lock.lock();
    try {
      lastLease++;
      leases.put(lastLease, new Lease(ttl, Deadline.after(ttl)));
      return lastLease;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean keepAlive(long lease, Deadline deadline) {
    lock.lock();
    try {
      expire();
      return leases.computeIfPresent(
              lease, (_, old) -> new Lease(old.ttl(), Deadline.after(old.ttl())))
          != null;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void revoke(long lease, Deadline deadline) {
    lock.lock();
    try {
      end(lease);
    } finally {
      lock.unlock();
    }
  }

  private void expire() {
    leases.entrySet().stream()
        .filter(lease -> lease.getValue().end().passed())
        .map(Map.Entry::getKey)
        .toList()
        .forEach(this::end);
  }

  private void end(long lease) {
    if (leases.remove(lease) != null) {
      long next = revision + 1;
      entries.values().stream()
          .filter(entry -> entry.lease() == lease)
          .map(Entry::key)
          .toList()
          .forEach(key -> apply(new Change.Delete(key), next));
      changed.signalAll();
    }
  }

  @Override
  public void compact(long before, Deadline deadline) {
    lock.lock();
    try {
      compacted = Math.max(compacted, before);
      history.removeIf(change -> change.revision() < before);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Watch watch(String prefix, long first) {
    return new Watch() {
      private long from = first;

      @Override
      public News next(Duration most) throws InterruptedException {
        Deadline deadline = Deadline.after(most);
        lock.lock();
        try {
          while (true) {
            expire();
            if (from < compacted) {
              return new News.Compacted();
            }
            List<Event> events =
                history.stream()
                    .filter(change -> change.revision() >= from)
                    .map(Past::event)
                    .filter(event -> event.key().startsWith(prefix))
                    .toList();
            from = revision + 1;
            if (!events.isEmpty() || deadline.passed()) {
              return new News.Events(events);
            }
            long nanos = Math.min(deadline.leftNanos(), TimeUnit.MILLISECONDS.toNanos(50));
            long _ = changed.awaitNanos(nanos);
          }
        } finally {
          lock.unlock();
        }
      }

      @Override
      public void close() {}
    };
  }

  @Override
  public void close() {}
}
