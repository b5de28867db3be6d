package dev.zlayer.daemon.metrics;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** How long things took, in fixed steps. May be used from any thread. */
public final class Histogram {
  private static final double[] BOUNDS = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600
  };

  private final AtomicLongArray counts = new AtomicLongArray(BOUNDS.length + 1);
  private final LongAdder nanos = new LongAdder();

  public void add(Duration took) {
    double seconds = took.toNanos() / 1e9;
    int step = 0;
    while (step < BOUNDS.length && seconds > BOUNDS[step]) {
      step++;
    }
    counts.incrementAndGet(step);
    nanos.add(took.toNanos());
  }

  /** Writes it as Prometheus wants it: every step counts those below it too. */
  void write(Exposition out, String name, String labels) {
    long sum = 0;
    for (int step = 0; step < BOUNDS.length; step++) {
      sum += counts.get(step);
      out.sample(name + "_bucket", join(labels, "le=\"%s\"".formatted(number(BOUNDS[step]))), sum);
    }
    sum += counts.get(BOUNDS.length);
    out.sample(name + "_bucket", join(labels, "le=\"+Inf\""), sum);
    out.sample(name + "_sum", labels, nanos.sum() / 1e9);
    out.sample(name + "_count", labels, sum);
  }

  private static String join(String one, String other) {
    return one.isEmpty() ? other : one + "," + other;
  }

  private static String number(double bound) {
    return bound == Math.rint(bound) ? Long.toString((long) bound) : Double.toString(bound);
  }
}
