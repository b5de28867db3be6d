package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.json.Json;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** What a book has decided and not made durable yet, and when it wants to be asked again. */
final class PendingChanges {
  /** Written by the loop, read by the threads it starts. */
  private volatile ServiceRecord record;

  private ServiceRecord saved;
  private final List<Event> events = new ArrayList<>();
  private Optional<Instant> lookAgain = Optional.empty();
  private Optional<Instant> delayedUntil = Optional.empty();

  PendingChanges(ServiceRecord record) {
    this.record = record;
    this.saved = record;
  }

  ServiceRecord record() {
    return record;
  }

  void replace(ServiceRecord record) {
    this.record = record;
  }

  void change(ReplicaId slot, UnaryOperator<ReplicaRecord> change) {
    record = record.with(slot, change);
  }

  /** No generation up to this one may be given again. */
  void used(long generation) {
    if (record.generation() < generation) {
      record = record.withGeneration(generation);
    }
  }

  void event(Instant now, String kind, ContainerId id, Optional<Failure> failure) {
    events.add(new Event(now, kind, id.path(), detail(failure)));
  }

  void event(Instant now, String kind, Optional<Failure> failure) {
    events.add(new Event(now, kind, record.key().toString(), detail(failure)));
  }

  void warn(Instant now, String warning) {
    event(now, "service.warning", warning);
  }

  void event(Instant now, String kind, String message) {
    events.add(
        new Event(
            now, kind, record.key().toString(), Json.object().put("message", message).build()));
  }

  private Json detail(Optional<Failure> failure) {
    return Json.object()
        .put("revision", record.revision())
        .putIf("failure", failure.map(ServiceCodec::json))
        .build();
  }

  /** What has to become durable; nothing is forgotten until {@link #saved}. */
  Change unsaved() {
    List<Change.Write> writes =
        record.equals(saved)
            ? List.of()
            : List.of(
                new Change.Put(
                    ServiceCodec.KIND, record.key().toString(), ServiceCodec.write(record)));
    return new Change(writes, events);
  }

  void saved() {
    saved = record;
    events.clear();
  }

  /** The asked change could not be made durable: it was not made. */
  void undo(ServiceRecord before, int eventsBefore) {
    record = before;
    events.subList(eventsBefore, events.size()).clear();
  }

  int events() {
    return events.size();
  }

  void lookAt(Instant time) {
    lookAgain = Optional.of(lookAgain.filter(time::isAfter).orElse(time));
  }

  /** The earliest time that was named since it was taken last. */
  Optional<Instant> lookAgain() {
    return lookAgain;
  }

  Optional<Instant> takeLookAgain() {
    Optional<Instant> taken = lookAgain;
    lookAgain = Optional.empty();
    return taken;
  }

  /** The wall clock was set: what waits for a time waits as long as before. */
  void clockMoved(Duration by) {
    lookAgain = lookAgain.map(time -> Saturating.plus(time, by));
    delayedUntil = delayedUntil.map(time -> Saturating.plus(time, by));
    record = record.clockMoved(by);
  }

  /** Takes no further steps before this time. */
  void delay(Instant until) {
    delayedUntil = Optional.of(until);
  }

  boolean delayed(Instant now) {
    boolean delayed = delayedUntil.filter(now::isBefore).isPresent();
    if (delayed) {
      lookAt(delayedUntil.orElseThrow());
    }
    return delayed;
  }
}
