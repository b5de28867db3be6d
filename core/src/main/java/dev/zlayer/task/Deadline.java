package dev.zlayer.task;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * A point on the monotonic clock by which something has to be done. It is made once, at the entry,
 * and passed down; nothing on the way starts the time anew.
 */
public final class Deadline {
  /** Far enough to be never, near enough that no sum overflows. */
  private static final long NEVER = Long.MAX_VALUE / 4;

  private static final Deadline NONE = new Deadline(() -> 0, 0, NEVER);

  private final LongSupplier nanoClock;
  private final long start;
  private final long limit;

  private Deadline(LongSupplier nanoClock, long start, long limit) {
    this.nanoClock = nanoClock;
    this.start = start;
    this.limit = limit;
  }

  public static Deadline after(Duration limit) {
    return after(limit, System::nanoTime);
  }

  /** With a clock of the caller's, for tests. */
  public static Deadline after(Duration limit, LongSupplier nanoClock) {
    long nanos = limit.compareTo(Duration.ofNanos(NEVER)) >= 0 ? NEVER : limit.toNanos();
    return nanos == NEVER ? NONE : new Deadline(nanoClock, nanoClock.getAsLong(), nanos);
  }

  public static Deadline none() {
    return NONE;
  }

  /** Time left, zero when passed. */
  public Duration left() {
    return Duration.ofNanos(leftNanos());
  }

  public long leftNanos() {
    return Math.max(0, limit - (nanoClock.getAsLong() - start));
  }

  public boolean passed() {
    return leftNanos() == 0;
  }

  public boolean never() {
    return limit == NEVER;
  }

  /** The whole time that was given. */
  public Duration limit() {
    return Duration.ofNanos(limit);
  }

  /** This deadline or {@code limit} from now, whichever comes first. */
  public Deadline atMost(Duration limit) {
    return left().compareTo(limit) <= 0
        ? this
        : after(limit, never() ? System::nanoTime : nanoClock);
  }

  /** Throws {@link AgentException.Timeout} when passed; {@code doing} completes "while ...". */
  public void check(String doing) {
    if (passed()) {
      throw new AgentException.Timeout(doing, limit());
    }
  }
}
