package dev.zlayer.proxy.ingress;

/**
 * Counts of times in milliseconds, in a few kilobytes however many there are: exact below 32, then
 * sixteen steps for each doubling, so a percentile is at most 7 percent too high. Owned by one
 * thread.
 */
final class LatencyHistogram {
  private static final int STEP_BITS = 4;
  private static final int STEPS = 1 << STEP_BITS;
  private static final int EXACT = 2 * STEPS;
  private static final int LARGEST_BITS = 40;
  private static final double WHOLE = 100;

  private final long[] counts = new long[EXACT + (LARGEST_BITS - STEP_BITS - 1) * STEPS];
  private long total;
  private long errors;

  void add(long millis, boolean error) {
    counts[bucket(Math.max(0, millis))]++;
    total++;
    errors += error ? 1 : 0;
  }

  long total() {
    return total;
  }

  long errors() {
    return errors;
  }

  /** The largest time of the step in which so many percent of all times lie; 0 without any. */
  long percentile(double percent) {
    long rank = Math.max(1, (long) Math.ceil(total * percent / WHOLE));
    long seen = 0;
    for (int i = 0; i < counts.length; i++) {
      seen += counts[i];
      if (seen >= rank) {
        return largest(i);
      }
    }
    return 0;
  }

  private static int bucket(long millis) {
    if (millis < EXACT) {
      return (int) millis;
    }
    long value = Math.min(millis, (1L << LARGEST_BITS) - 1);
    int shift = Long.SIZE - 1 - Long.numberOfLeadingZeros(value) - STEP_BITS;
    return EXACT + (shift - 1) * STEPS + (int) (value >> shift) - STEPS;
  }

  private static long largest(int bucket) {
    if (bucket < EXACT) {
      return bucket;
    }
    int shift = (bucket - EXACT) / STEPS + 1;
    int step = (bucket - EXACT) % STEPS + STEPS;
    return ((step + 1L) << shift) - 1;
  }
}
