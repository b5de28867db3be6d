package dev.zlayer.engine.state;

import dev.zlayer.json.Json;
import dev.zlayer.task.LazyLogger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Puts aside records that cannot be used, so that one of them does not keep the agent from starting
 * or an owner from working. They are kept as they are under another kind, and reported; those that
 * could not be read are put back by a program that can read them.
 */
public final class Quarantine {
  /** Those that could not be read. */
  public static final String KIND = "quarantine";

  /** Those that an owner failed with. */
  public static final String FATAL = "quarantine.fatal";

  private static final System.Logger LOG = LazyLogger.of(Quarantine.class);

  private Quarantine() {}

  /** All records of a kind that can be read, those among them that could not be so far. */
  public static <T> List<T> read(
      StateStore store, String kind, Function<byte[], T> codec, Instant now) {
    restore(store, kind, codec, now);
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

  private static <T> void restore(
      StateStore store, String kind, Function<byte[], T> codec, Instant now) {
    String prefix = kind + "/";
    for (StateStore.Entry entry : store.list(KIND, prefix)) {
      String key = entry.key().substring(prefix.length());
      try {
        T _ = codec.apply(entry.value());
      } catch (RuntimeException _) {
        continue;
      }
      if (store.find(kind, key).isEmpty()) {
        store.commit(
            new Change(
                List.of(
                    new Change.Put(kind, key, entry.value()), new Change.Delete(KIND, entry.key())),
                List.of(new Event(now, "record.restored", entry.key(), Json.object().build()))));
      }
    }
  }

  /** Whether a record was put aside. */
  public static boolean holds(StateStore store, String kind, String key) {
    return store.find(KIND, kind + "/" + key).isPresent();
  }

  /** What is put aside, as {@code kind/key}. */
  public static List<String> all(StateStore store) {
    return Stream.of(KIND, FATAL).flatMap(kind -> store.keys(kind, "").stream()).sorted().toList();
  }

  /** Moves one record that cannot be read; the reason goes into an event and the log. */
  public static void put(
      StateStore store, String kind, StateStore.Entry entry, Throwable reason, Instant now) {
    put(store, KIND, kind, entry, reason, now);
  }

  /** As {@link #put}, for a record that an owner fails with though it can be read. */
  public static void putFatal(
      StateStore store, String kind, StateStore.Entry entry, Throwable reason, Instant now) {
    put(store, FATAL, kind, entry, reason, now);
  }

  private static void put(
      StateStore store,
      String aside,
      String kind,
      StateStore.Entry entry,
      Throwable reason,
      Instant now) {
    String name = kind + "/" + entry.key();
    LOG.log(
        System.Logger.Level.ERROR,
        "record %s is put aside: %s".formatted(name, reason.getMessage()));
    LOG.log(System.Logger.Level.DEBUG, "record " + name, reason);
    var event =
        new Event(
            now,
            "record.quarantined",
            name,
            Json.object().put("reason", String.valueOf(reason.getMessage())).build());
    store.commit(
        new Change(
            List.of(
                new Change.Put(aside, name, entry.value()), new Change.Delete(kind, entry.key())),
            List.of(event)));
  }
}
