package dev.zlayer.container;

import java.time.Instant;
import java.util.Optional;

/**
 * How far a log was read, so that a second reading of it begins where the first one was cut off.
 * Several records can have the same time, so it also counts those of the last one. Owned by the
 * reader.
 */
public final class LogPosition {
  private Optional<Instant> last = Optional.empty();
  private int shown;

  /** Records that were shown before; negative while nothing is read again. */
  private int toPass = -1;

  /** From where to ask again. */
  public Optional<Instant> since() {
    return last;
  }

  /** Call before the log is read again. */
  public void again() {
    toPass = last.isPresent() ? shown : -1;
  }

  /** Whether a record of that time is new; counts it if so. */
  public boolean isNew(Instant time) {
    boolean same = last.isPresent() && time.equals(last.get());
    // only a second reading shows what was seen: a clock that was set back hides nothing
    if (toPass >= 0 && last.isPresent()) {
      if (time.isBefore(last.get())) {
        return false;
      }
      if (same && toPass > 0) {
        toPass--;
        return false;
      }
      toPass = -1;
    }
    shown = same ? shown + 1 : 1;
    last = Optional.of(time);
    return true;
  }
}
