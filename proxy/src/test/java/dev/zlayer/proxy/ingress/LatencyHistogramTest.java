package dev.zlayer.proxy.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LatencyHistogramTest {
  @Test
  void smallTimesAreExactAndWithoutAnyThereIsNone() {
    var times = new LatencyHistogram();
    assertThat(times.percentile(99)).isZero();
    for (int millis = 1; millis <= 31; millis++) {
      times.add(millis, millis > 29);
    }

    assertThat(times.percentile(50)).isEqualTo(16);
    assertThat(times.percentile(100)).isEqualTo(31);
    assertThat(times.total()).isEqualTo(31);
    assertThat(times.errors()).isEqualTo(2);
  }

  @Test
  void percentilesAreNeverTooLowAndAtMostSevenPercentTooHigh() {
    for (long seed = 0; seed < 50; seed++) {
      var random = new Random(seed);
      var times = new LatencyHistogram();
      var all = new ArrayList<Long>();
      for (int i = 0; i < 1000; i++) {
        long millis = (long) Math.exp(random.nextDouble() * 20);
        times.add(millis, false);
        all.add(millis);
      }
      Collections.sort(all);
      for (int percent : List.of(1, 50, 95, 99, 100)) {
        long exact = all.get(percent * 10 - 1);
        assertThat(times.percentile(percent))
            .as("p%d, seed %d", percent, seed)
            .isBetween(exact, (long) Math.ceil(exact * 1.07));
      }
    }
  }

  @Test
  void anyTimeHasAPlace() {
    var times = new LatencyHistogram();
    times.add(-1, false);
    times.add(Long.MAX_VALUE, false);

    assertThat(times.percentile(50)).isZero();
    assertThat(times.percentile(100)).isEqualTo((1L << 40) - 1);
  }
}
