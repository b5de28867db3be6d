package dev.zlayer.cli.client;

import java.time.Instant;
import java.util.Optional;

/**
 * How far a log was read, so that a second reading of it begins where the first one was cut off.
 * Several lines can have the same time, so it also counts those of the last one. Owned by the
 * reader.
 */
public final class Resume {
  private Optional<Instant> last = Optional.empty();
  private int shown;
  private int passed;

  /** From where to ask again. */
  public Optional<Instant> since() {
    return last;
  }

  /** Call before the log is read again. */
  public void again() {
    passed = 0;
  }

  /** Whether a line is new; counts it if so. */
  public boolean isNew(Output line) {
    if (line.time().isEmpty()) {
      return true;
    }
    Instant time = line.time().get();
    int order = last.map(time::compareTo).orElse(1);
    if (order < 0) {
      return false;
    }
    if (order > 0) {
      last = line.time();
      shown = 1;
      passed = 1;
      return true;
    }
    passed++;
    if (passed <= shown) {
      return false;
    }
    shown = passed;
    return true;
  }
}
