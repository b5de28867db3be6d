package dev.zlayer.engine.state;

import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Puts aside records that cannot be used, so that one of them does not keep the agent from starting
 * or an owner from working. They are kept as they are under another kind, and reported.
 */
public final class Quarantine {
  public static final String KIND = "quarantine";

  private static final System.Logger LOG = System.getLogger(Quarantine.class.getName());

  private Quarantine() {}

  /** All records of a kind that can be read. */
  public static <T> List<T> read(
      StateStore store, String kind, Function<byte[], T> codec, Instant now) {
    var all = new ArrayList<T>();
    for (StateStore.Entry entry : store.list(kind)) {
      try {
        all.add(codec.apply(entry.value()));
      } catch (RuntimeException e) {
        put(store, kind, entry, e, now);
      }
    }
    return all;
  }

  /** Moves one record; the reason goes into an event and the log. */
  public static void put(
      StateStore store, String kind, StateStore.Entry entry, Throwable reason, Instant now) {
    String name = kind + "/" + entry.key();
    LOG.log(System.Logger.Level.ERROR, "record " + name + " is put aside", reason);
    var event =
        new Event(
            now,
            "record.quarantined",
            name,
            Json.object().put("reason", reason.toString()).build());
    store.commit(
        new Change(
            List.of(
                new Change.Put(KIND, name, entry.value()), new Change.Delete(kind, entry.key())),
            List.of(event)));
  }
}
