package dev.zlayer.host.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Times of access and modification since 1970, exact to the nanosecond. */
public record FileTimes(
    long accessedSeconds, int accessedNanos, long modifiedSeconds, int modifiedNanos) {
  public static FileTimes modified(long seconds, int nanos) {
    return new FileTimes(seconds, nanos, seconds, nanos);
  }

  /** Fills two struct timespec. */
  MemorySegment write(MemorySegment struct) {
    struct.set(ValueLayout.JAVA_LONG, 0, accessedSeconds);
    struct.set(ValueLayout.JAVA_LONG, 8, accessedNanos);
    struct.set(ValueLayout.JAVA_LONG, 16, modifiedSeconds);
    struct.set(ValueLayout.JAVA_LONG, 24, modifiedNanos);
    return struct;
  }
}
