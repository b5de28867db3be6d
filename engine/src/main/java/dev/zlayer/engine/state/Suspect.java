package dev.zlayer.engine.state;

import java.time.Instant;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Which record an owner is busy with. It outlives the owner's state: what is still set when the
 * owner was restarted is what it has died of.
 */
public final class Suspect {
  /** An owner that has died so often is given up at the next time. */
  public static final int DEATHS = 3;

  private volatile Optional<String> key = Optional.empty();

  /** Does something with a record; an exception is dealt with by the caller, an error is fatal. */
  public <T> T with(String record, Supplier<T> step) {
    key = Optional.of(record);
    try {
      T result = step.get();
      key = Optional.empty();
      return result;
    } catch (RuntimeException e) {
      key = Optional.empty();
      throw e;
    }
  }

  /** Puts aside the record that an owner has died of too often; returns its key. */
  public Optional<String> quarantine(StateStore store, String kind, int deaths, Instant now) {
    Optional<String> fatal = key.filter(_ -> deaths >= DEATHS);
    key = fatal.isPresent() ? Optional.empty() : key;
    fatal
        .flatMap(record -> store.find(kind, record).map(at -> new StateStore.Entry(record, at)))
        .ifPresent(entry -> Quarantine.putFatal(store, kind, entry, reason(deaths), now));
    return fatal;
  }

  public static Throwable reason(int deaths) {
    return new IllegalStateException("its owner died of it %d times".formatted(deaths));
  }
}
