package dev.zlayer.engine.state;

/**
 * Bounds of a store.
 *
 * @param events newest events that are kept at least; up to a tenth more may be there
 * @param bytes size of the database that is never exceeded; a commit that would is refused
 */
public record StoreConfig(int events, long bytes) {
  public static final StoreConfig DEFAULT = new StoreConfig(100_000, 64L << 30);

  public StoreConfig withEvents(int events) {
    return new StoreConfig(events, bytes);
  }

  public StoreConfig withBytes(long bytes) {
    return new StoreConfig(events, bytes);
  }

  /** Dropping old events in lots costs less than one by one. */
  int eventsBeforeDropping() {
    return events + Math.max(1, events / 10);
  }
}
