package dev.zlayer.daemon.access;

import dev.zlayer.daemon.http.AuditSink;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Who changed what. Records lie in the state store beside the events, under numbers of their own,
 * so that many events never displace a record; of the records the newest are kept.
 */
public final class AuditLog implements AuditSink {
  private static final String KIND = "audit";

  /** Records that are read at once: those whose numbers differ in the last three digits. */
  private static final long BLOCK = 1000;

  /** Attempts without proof that are recorded at once, and how fast further ones may follow. */
  private static final int BURST = 20;

  private static final Duration REFILL = Duration.ofSeconds(10);

  private final StateStore store;
  private final InstantSource clock;
  private final int kept;
  private final Log log;
  private long first;
  private long last;
  private double credit = BURST;
  private Instant credited;
  private long suppressed;

  /** Takes one record. */
  @FunctionalInterface
  public interface Reader {
    void take(Json record) throws IOException;
  }

  private AuditLog(StateStore store, InstantSource clock, int kept, Log log) {
    this.store = store;
    this.clock = clock;
    this.kept = kept;
    this.log = log;
    this.credited = clock.instant();
    List<String> keys = store.keys(KIND, "");
    this.first = keys.isEmpty() ? 1 : Long.parseLong(keys.getFirst());
    this.last = keys.isEmpty() ? 0 : Long.parseLong(keys.getLast());
  }

  /** Opens it; only the newest {@code kept} records stay. */
  public static AuditLog open(StateStore store, InstantSource clock, int kept, Log log) {
    return new AuditLog(store, clock, kept, log);
  }

  @Override
  public void changed(Entry entry) {
    add(entry, 0);
  }

  @Override
  public void unauthenticated(Entry entry) {
    long before;
    synchronized (this) {
      Instant now = clock.instant();
      double refilled = (double) Duration.between(credited, now).toMillis() / REFILL.toMillis();
      credit = Math.clamp(credit + refilled, 0, BURST);
      credited = now;
      if (credit < 1) {
        suppressed++;
        return;
      }
      credit--;
      before = suppressed;
      suppressed = 0;
    }
    add(entry, before);
  }

  /** A change that was made is not undone because its record cannot be written; it is logged. */
  private void add(Entry entry, long suppressedBefore) {
    Instant now = clock.instant();
    try {
      store.commit(numbered(entry, suppressedBefore, now));
    } catch (AgentException e) {
      log.error(
          "audit record lost",
          e,
          Map.of("who", entry.who(), "method", entry.method(), "route", entry.route()));
    }
  }

  private synchronized Change numbered(Entry entry, long suppressedBefore, Instant now) {
    long number = ++last;
    var writes = new ArrayList<Change.Write>();
    writes.add(
        new Change.Put(
            KIND, key(number), JsonText.bytes(json(number, entry, suppressedBefore, now))));
    while (last - first + 1 > kept) {
      writes.add(new Change.Delete(KIND, key(first++)));
    }
    return new Change(writes, List.of());
  }

  private static Json json(long number, Entry entry, long suppressedBefore, Instant now) {
    var json =
        Json.object()
            .put("seq", number)
            .put("time", now.toString())
            .put("who", entry.who())
            .put("listener", entry.listener())
            .putIf("remote", entry.remote())
            .put("method", entry.method())
            .put("route", entry.route())
            .put("object", entry.object())
            .put("status", entry.status());
    return suppressedBefore == 0
        ? json.build()
        : json.put("suppressed_before", suppressedBefore).build();
  }

  /** Reads the records from a time on, the oldest first. */
  public void read(Optional<Instant> since, Reader reader) throws IOException {
    long from;
    long to;
    synchronized (this) {
      from = first;
      to = last;
    }
    for (long block = from / BLOCK; block <= to / BLOCK; block++) {
      for (StateStore.Entry entry : store.list(KIND, key(block * BLOCK).substring(0, 16))) {
        Json record = readable(entry);
        boolean wanted =
            since.isEmpty()
                || record
                    .at("time")
                    .string()
                    .map(Instant::parse)
                    .filter(time -> !time.isBefore(since.get()))
                    .isPresent();
        if (wanted) {
          reader.take(record);
        }
      }
    }
  }

  /** One that is damaged is shown as that: it was there, and hides none of the others. */
  private static Json readable(StateStore.Entry entry) {
    try {
      Json record = JsonText.parse(entry.value());
      if (record.at("time").string().isPresent()) {
        return record;
      }
    } catch (AgentException.InvalidSpec _) {
      // shown below
    }
    var damaged =
        new Entry("unknown", "unknown", Optional.empty(), "", "", Map.of("record", "damaged"), 0);
    return json(Long.parseLong(entry.key()), damaged, 0, Instant.EPOCH);
  }

  private static String key(long number) {
    return "%019d".formatted(number);
  }
}
