package dev.zlayer.daemon.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.zlayer.daemon.metrics.MetricSeries.Point;
import dev.zlayer.daemon.metrics.MetricSeries.Span;
import dev.zlayer.error.AgentException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

class MetricSeriesTest {
  private static final long BEGIN = 1_800_000_000L; // a multiple of every step

  private final MetricSeries series = new MetricSeries(1);

  @Test
  void aStepHasTheMeanOfItsReadings() {
    series.add(BEGIN, BEGIN + 10, 4);
    series.add(BEGIN + 10, BEGIN + 15, 10);

    List<Point> points = series.points(Span.HOUR, BEGIN + 15);

    assertThat(points).singleElement().extracting(Point::second).isEqualTo(BEGIN);
    assertThat(points.getFirst().values()[0]).isEqualTo(6);
  }

  @Test
  void aReadingOverSeveralStepsCountsInEach() {
    series.add(BEGIN + 10, BEGIN + 70, 7);

    assertThat(series.points(Span.HOUR, BEGIN + 70))
        .extracting(Point::second)
        .containsExactly(BEGIN, BEGIN + 20, BEGIN + 40, BEGIN + 60);
    assertThat(series.points(Span.DAY, BEGIN + 70)).hasSize(1);
  }

  @Test
  void aLongGapStaysAGap() {
    series.add(BEGIN, BEGIN + 5, 1);
    series.add(BEGIN + 5, BEGIN + 2000, 2);

    assertThat(series.points(Span.HOUR, BEGIN + 2000))
        .extracting(Point::second)
        .containsExactly(BEGIN, BEGIN + 2000);
  }

  @Test
  void whatIsOlderThanTheSpanIsNotShown() {
    series.add(BEGIN, BEGIN + 5, 1);
    series.add(BEGIN + 3590, BEGIN + 3605, 2);

    assertThat(series.points(Span.HOUR, BEGIN + 3605))
        .hasSize(2)
        .allMatch(point -> Math.abs(point.values()[0] - 2) < 0.01);
    assertThat(series.points(Span.SIX_HOURS, BEGIN + 3605)).hasSize(3);
    assertThat(series.points(Span.HOUR, BEGIN + 86_400)).isEmpty();
  }

  /** Against a table of everything, with gaps, for more than a day. */
  @Test
  void everyRingAgreesWithAllReadings() {
    var random = new Random(7);
    var sums = new TreeMap<Long, Double>();
    var counts = new TreeMap<Long, Integer>();
    long now = BEGIN;
    while (now < BEGIN + 100_000) {
      now += random.nextInt(10) == 0 ? 400 + random.nextInt(4000) : 1 + random.nextInt(9);
      double value = Math.pow(2, random.nextDouble() * 40);
      series.add(now, now, value); // of a moment
      long step = now / 600 * 600;
      sums.merge(step, value, Double::sum);
      counts.merge(step, 1, Integer::sum);
    }
    List<Point> points = series.points(Span.DAY, now);
    long oldest = now / 600 * 600 - 143 * 600L;

    assertThat(points)
        .extracting(Point::second)
        .containsExactlyElementsOf(sums.tailMap(oldest).keySet());
    for (Point point : points) {
      assertThat(point.values()[0])
          .isCloseTo(
              sums.get(point.second()) / counts.get(point.second()),
              Percentage.withPercentage(0.05));
    }
  }

  @Test
  void aClockThatIsSetBackBeginsAnew() {
    series.add(BEGIN + 10_000, BEGIN + 10_001, 3);
    series.add(BEGIN, BEGIN + 1, 4);

    assertThat(series.points(Span.HOUR, BEGIN + 1))
        .singleElement()
        .satisfies(point -> assertThat(point.values()[0]).isEqualTo(4));
    assertThat(series.points(Span.HOUR, BEGIN + 10_001)).isEmpty();
  }

  @Test
  void seriesAreAddedUpStepByStep() {
    var other = new MetricSeries(1);
    series.add(BEGIN, BEGIN + 10, 3);
    other.add(BEGIN, BEGIN + 30, 5);

    List<Point> sum =
        MetricSeries.sum(
            List.of(series.points(Span.HOUR, BEGIN + 30), other.points(Span.HOUR, BEGIN + 30)));

    assertThat(sum).extracting(Point::second).containsExactly(BEGIN, BEGIN + 20);
    assertThat(sum.get(0).values()[0]).isCloseTo(8, within(0.01));
    assertThat(sum.get(1).values()[0]).isEqualTo(5);
  }

  @Test
  void isTheSameAfterItWasWrittenAndRead() throws IOException {
    for (int second = 0; second < 30_000; second += 7) {
      series.add(BEGIN + second, BEGIN + second + 7, second);
    }
    var bytes = new ByteArrayOutputStream();
    series.write(new DataOutputStream(bytes));

    MetricSeries read =
        MetricSeries.read(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())), 1);

    for (Span span : Span.values()) {
      assertThat(read.points(span, BEGIN + 30_000))
          .usingRecursiveComparison()
          .isEqualTo(series.points(span, BEGIN + 30_000));
    }
    assertThat(bytes.size()).isLessThan(1200);
  }

  @Test
  void refusesOtherSpans() {
    assertThatThrownBy(() -> Span.of("2h")).isInstanceOf(AgentException.InvalidSpec.class);
  }
}
