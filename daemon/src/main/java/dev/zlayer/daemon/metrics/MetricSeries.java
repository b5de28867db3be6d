package dev.zlayer.daemon.metrics;

import dev.zlayer.error.AgentException;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The figures of one thing over a day, in a fixed amount of memory: the last hour in steps of 20
 * seconds, six hours in steps of two minutes, a day in steps of ten. Steps begin at multiples of
 * their length, so that series can be added up. Not safe for several threads.
 */
final class MetricSeries {
  /** How far back, and in which steps. */
  enum Span {
    HOUR("1h", 20, 180),
    SIX_HOURS("6h", 120, 180),
    DAY("24h", 600, 144);

    private final String word;
    private final int seconds;
    private final int slots;

    Span(String word, int seconds, int slots) {
      this.word = word;
      this.seconds = seconds;
      this.slots = slots;
    }

    String word() {
      return word;
    }

    int seconds() {
      return seconds;
    }

    static Span of(String word) {
      return Stream.of(values())
          .filter(span -> span.word.equals(word))
          .findFirst()
          .orElseThrow(
              () ->
                  new AgentException.InvalidSpec(
                      "'%s' is not a span: 1h, 6h or 24h".formatted(word)));
    }
  }

  /** The mean of what was added in one step. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Point(long second, double[] values) {}

  /** A gap of readings longer than this is shown as one. */
  private static final long LONGEST_SECONDS = 300;

  private static final char NONE = Character.MAX_VALUE;

  /** Values are kept as logarithms in 16 bits, at most 0.04 % off, up to 2^60. */
  private static final double STEPS_PER_DOUBLING = 1024;

  private final int columns;
  private final Map<Span, Ring> rings = new EnumMap<>(Span.class);
  private long last;

  MetricSeries(int columns) {
    this.columns = columns;
    clear();
  }

  /**
   * What was measured between two times.
   *
   * @param values of each column one, not below 0
   */
  void add(long fromSecond, long toSecond, double... values) {
    if (values.length != columns) {
      throw new IllegalArgumentException(values.length + " values for " + columns + " columns");
    }
    if (toSecond <= 0) {
      return;
    }
    if (toSecond < last - LONGEST_SECONDS) {
      clear(); // the clock was set back; what is kept is of a time to come
    }
    last = Math.max(last, toSecond);
    long from =
        toSecond - fromSecond > LONGEST_SECONDS || fromSecond > toSecond ? toSecond : fromSecond;
    for (Ring ring : rings.values()) {
      ring.add(from, toSecond, values);
    }
  }

  private void clear() {
    last = 0;
    for (Span span : Span.values()) {
      rings.put(span, new Ring(span, columns));
    }
  }

  /** When something was added last, in seconds. */
  long last() {
    return last;
  }

  /** What is kept of a span before a time, oldest first. */
  List<Point> points(Span span, long nowSecond) {
    return Objects.requireNonNull(rings.get(span)).points(nowSecond);
  }

  /** The sum of several series; a step that some lack has the sum of the others. */
  static List<Point> sum(List<List<Point>> series) {
    var sums = new TreeMap<Long, double[]>();
    for (List<Point> points : series) {
      for (Point point : points) {
        sums.merge(
            point.second(),
            point.values(),
            (one, other) -> {
              double[] both = one.clone();
              Arrays.setAll(both, index -> one[index] + other[index]);
              return both;
            });
      }
    }
    var sum = new ArrayList<Point>();
    sums.forEach((second, values) -> sum.add(new Point(second, values)));
    return sum;
  }

  void write(DataOutput out) throws IOException {
    out.writeLong(last);
    for (Ring ring : rings.values()) {
      ring.write(out);
    }
  }

  static MetricSeries read(DataInput in, int columns) throws IOException {
    var series = new MetricSeries(columns);
    series.last = in.readLong();
    for (Ring ring : series.rings.values()) {
      ring.read(in);
    }
    return series;
  }

  private static char encode(double value) {
    double steps = Math.log1p(Math.max(0, value)) / Math.log(2) * STEPS_PER_DOUBLING;
    return (char) Math.min(NONE - 1, Math.round(steps));
  }

  private static double decode(char code) {
    return Math.expm1(code / STEPS_PER_DOUBLING * Math.log(2));
  }

  /** Steps of one length; the newest is open and holds a sum. */
  private static final class Ring {
    private final Span span;
    private final int columns;

    /** By step modulo their number; grown when the first value of a slot comes. */
    private char[] codes = new char[0];

    private final double[] sums;
    private double weight;
    private long open;

    Ring(Span span, int columns) {
      this.span = span;
      this.columns = columns;
      this.sums = new double[columns];
    }

    void add(long fromSecond, long toSecond, double[] values) {
      long first = fromSecond / span.seconds;
      long end = toSecond / span.seconds;
      for (long step = Math.max(first, open); step <= end; step++) {
        long begin = Math.max(fromSecond, step * span.seconds);
        long until = Math.min(toSecond, (step + 1) * span.seconds);
        if (until > begin || fromSecond == toSecond || (first == end)) {
          put(step, Math.max(until - begin, 1), values);
        }
      }
    }

    private void put(long step, long share, double[] values) {
      if (step > open) {
        close(step);
      }
      for (int column = 0; column < columns; column++) {
        sums[column] += share * values[column];
      }
      weight += share;
    }

    private void close(long next) {
      if (weight > 0) {
        grow();
        for (int column = 0; column < columns; column++) {
          codes[index(open) + column] = encode(sums[column] / weight);
        }
      }
      if (codes.length > 0) {
        // what lies between, and the open one itself, must not show a value of the last turn
        for (long step = Math.max(open + 1, next - span.slots + 1); step <= next; step++) {
          codes[index(step)] = NONE;
        }
      }
      Arrays.fill(sums, 0);
      weight = 0;
      open = next;
    }

    private void grow() {
      if (codes.length == 0) {
        codes = new char[span.slots * columns];
        Arrays.fill(codes, NONE);
      }
    }

    private int index(long step) {
      return (int) (step % span.slots) * columns;
    }

    List<Point> points(long nowSecond) {
      long newest = nowSecond / span.seconds;
      var points = new ArrayList<Point>();
      for (long step = Math.max(0, newest - span.slots + 1); step <= newest; step++) {
        value(step).ifPresent(points::add);
      }
      return points;
    }

    private Optional<Point> value(long step) {
      double[] values = new double[columns];
      if (step == open && weight > 0) {
        Arrays.setAll(values, column -> sums[column] / weight);
      } else if (step < open
          && step > open - span.slots
          && codes.length > 0
          && codes[index(step)] != NONE) {
        Arrays.setAll(values, column -> decode(codes[index(step) + column]));
      } else {
        return Optional.empty();
      }
      return Optional.of(new Point(step * span.seconds, values));
    }

    void write(DataOutput out) throws IOException {
      out.writeLong(open);
      out.writeDouble(weight);
      for (double sum : sums) {
        out.writeDouble(sum);
      }
      out.writeBoolean(codes.length > 0);
      for (char code : codes) {
        out.writeChar(code);
      }
    }

    void read(DataInput in) throws IOException {
      open = in.readLong();
      weight = in.readDouble();
      for (int column = 0; column < columns; column++) {
        sums[column] = in.readDouble();
      }
      if (in.readBoolean()) {
        grow();
        for (int index = 0; index < codes.length; index++) {
          codes[index] = in.readChar();
        }
      }
    }
  }
}
