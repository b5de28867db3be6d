package dev.zlayer.engine.state;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/** State of an agent without a disk; gone with the process. */
public final class MemoryStateStore implements StateStore {
  private final StoreConfig config;
  private final Map<String, NavigableMap<String, byte[]>> records = new HashMap<>();
  private final Deque<EventPage.Numbered> events = new ArrayDeque<>();
  private final EventNotifier bell = new EventNotifier(0);
  private boolean closed;

  public MemoryStateStore() {
    this(StoreConfig.DEFAULT);
  }

  public MemoryStateStore(StoreConfig config) {
    this.config = config;
  }

  @Override
  public synchronized Optional<byte[]> find(String kind, String key) {
    return Optional.ofNullable(kind(kind).get(key)).map(byte[]::clone);
  }

  @Override
  public synchronized List<Entry> list(String kind, String prefix) {
    var entries = new ArrayList<Entry>();
    withPrefix(kind, prefix).forEach((key, value) -> entries.add(new Entry(key, value.clone())));
    return entries;
  }

  @Override
  public synchronized List<String> keys(String kind, String prefix) {
    return List.copyOf(withPrefix(kind, prefix).keySet());
  }

  private Map<String, byte[]> withPrefix(String kind, String prefix) {
    return kind(kind)
        .subMap(prefix, true, prefix + Character.toString(Character.MAX_CODE_POINT), false);
  }

  @Override
  public synchronized long commit(Change change) {
    for (Change.Write write : change.writes()) {
      switch (write) {
        case Change.Put(var kind, var key, var value) -> kind(kind).put(key, value.clone());
        case Change.Delete(var kind, var key) -> kind(kind).remove(key);
      }
    }
    long last = bell.last();
    for (Event event : change.events()) {
      events.add(new EventPage.Numbered(++last, event));
    }
    if (events.size() > config.eventsBeforeDropping()) {
      while (events.size() > config.events()) {
        events.remove();
      }
    }
    bell.ring(last);
    return last;
  }

  @Override
  public synchronized EventPage events(long since, Optional<String> subject, int limit) {
    requireOpen();
    return new EventPage(
        events.stream()
            .filter(event -> event.sequence() > since)
            .filter(event -> subject.map(event.event().subject()::equals).orElse(true))
            .limit(limit)
            .toList(),
        since,
        events.isEmpty() ? bell.last() + 1 : events.getFirst().sequence(),
        bell.last());
  }

  @Override
  public boolean awaitEvent(long since, Deadline deadline) throws InterruptedException {
    return bell.await(since, deadline);
  }

  @Override
  public synchronized void close() {
    closed = true;
  }

  private NavigableMap<String, byte[]> kind(String kind) {
    requireOpen();
    return records.computeIfAbsent(kind, _ -> new TreeMap<>());
  }

  private void requireOpen() {
    if (closed) {
      throw new AgentException.Internal("the state store is closed");
    }
  }
}
