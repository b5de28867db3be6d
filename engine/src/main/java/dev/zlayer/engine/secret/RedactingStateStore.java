package dev.zlayer.engine.secret;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.task.Deadline;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** A store in whose events no value of a secret becomes durable. Its owner closes the other. */
public final class RedactingStateStore implements StateStore {
  private final StateStore store;
  private final Supplier<Redaction> redaction;

  public RedactingStateStore(StateStore store, Supplier<Redaction> redaction) {
    this.store = store;
    this.redaction = redaction;
  }

  @Override
  public Optional<byte[]> find(String kind, String key) {
    return store.find(kind, key);
  }

  @Override
  public List<Entry> list(String kind, String prefix) {
    return store.list(kind, prefix);
  }

  @Override
  public List<String> keys(String kind, String prefix) {
    return store.keys(kind, prefix);
  }

  @Override
  public long commit(Change change) {
    return store.commit(
        change.events().isEmpty()
            ? change
            : new Change(change.writes(), change.events().stream().map(this::hidden).toList()));
  }

  private Event hidden(Event event) {
    return new Event(
        event.at(), event.kind(), event.subject(), redaction.get().json(event.detail()));
  }

  @Override
  public EventPage events(long since, Optional<String> subject, int limit) {
    return store.events(since, subject, limit);
  }

  @Override
  public boolean awaitEvent(long since, Deadline deadline) throws InterruptedException {
    return store.awaitEvent(since, deadline);
  }

  @Override
  public void close() {}
}
