package dev.zlayer.engine.state;

import java.util.ArrayList;
import java.util.List;

/** Writes and events that become durable together. Later writes to one key win. */
public record Change(List<Write> writes, List<Event> events) {
  public Change {
    writes = List.copyOf(writes);
    events = List.copyOf(events);
  }

  /** One write. */
  public sealed interface Write {
    String kind();

    String key();
  }

  /** Adds or replaces a record. */
  @SuppressWarnings("ArrayRecordComponent") // a value is bytes; nobody compares writes
  public record Put(String kind, String key, byte[] value) implements Write {}

  /** Removes a record; one that is not there is fine. */
  public record Delete(String kind, String key) implements Write {}

  public static Change of(Write... writes) {
    return new Change(List.of(writes), List.of());
  }

  public static Change of(Event... events) {
    return new Change(List.of(), List.of(events));
  }

  public boolean isEmpty() {
    return writes.isEmpty() && events.isEmpty();
  }

  public Change plus(Change other) {
    var allWrites = new ArrayList<>(writes);
    allWrites.addAll(other.writes);
    var allEvents = new ArrayList<>(events);
    allEvents.addAll(other.events);
    return new Change(allWrites, allEvents);
  }
}
