package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import dev.zlayer.error.AgentException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Who has which container, in memory and on disk alike. An entry is on disk before it is in the
 * table; whoever drops one names the very entry it saw, so that nobody drops a newer one.
 */
final class DispatchTable {
  /** One container; compared by identity. */
  static final class Entry {
    private final DispatchRecord record;
    private volatile boolean pending;

    private Entry(DispatchRecord record, boolean pending) {
      this.record = record;
      this.pending = pending;
    }

    DispatchRecord record() {
      return record;
    }

    /** Its runtime is being asked to make it, so that it need not have it yet. */
    boolean pending() {
      return pending;
    }

    void settled() {
      pending = false;
    }
  }

  private final DispatchRecords records;
  private final ConcurrentHashMap<ContainerId, Entry> entries = new ConcurrentHashMap<>();

  DispatchTable(DispatchRecords records) {
    this.records = records;
    records.load().forEach(record -> entries.put(record.id(), new Entry(record, false)));
  }

  Optional<Entry> find(ContainerId id) {
    return Optional.ofNullable(entries.get(id));
  }

  /** Those whose runtimes have them, unless they were removed. */
  List<Entry> settled() {
    return entries.values().stream().filter(entry -> !entry.pending).toList();
  }

  /** Recorded when this returns; refused when there is an entry. */
  Entry begin(DispatchRecord record) {
    var entry = new Entry(record, true);
    if (!add(entry).equals(entry)) {
      throw new AgentException.Conflict(
          "container '" + record.id() + "' is being made already: wait for it");
    }
    return entry;
  }

  /** For a container that its runtime has and nobody recorded. */
  void adopt(DispatchRecord record) {
    add(new Entry(record, false));
  }

  /** Returns the entry that is in the table then. */
  private Entry add(Entry entry) {
    return entries.computeIfAbsent(
        entry.record.id(),
        _ -> {
          records.save(entry.record);
          return entry;
        });
  }

  void forget(Entry entry) {
    entries.computeIfPresent(
        entry.record.id(),
        (id, current) -> {
          if (!current.equals(entry)) {
            return current;
          }
          records.delete(id);
          return null;
        });
  }
}
