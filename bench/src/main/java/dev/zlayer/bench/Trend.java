package dev.zlayer.bench;

import java.util.ArrayList;
import java.util.List;

/**
 * Whether a figure grows: the median of the slopes between all pairs of points, which a few
 * outliers do not move.
 */
public record Trend(List<Point> points) {
  /** What was seen, and when. */
  public record Point(double seconds, double value) {}

  public Trend {
    points = List.copyOf(points);
  }

  /** Change in a second; 0 when there are too few points to tell. */
  public double slope() {
    var slopes = new ArrayList<Double>();
    for (int first = 0; first < points.size(); first++) {
      for (int second = first + 1; second < points.size(); second++) {
        double seconds = points.get(second).seconds() - points.get(first).seconds();
        if (seconds > 0) {
          slopes.add((points.get(second).value() - points.get(first).value()) / seconds);
        }
      }
    }
    return slopes.isEmpty() ? 0 : new Samples(slopes).median();
  }

  /** Change over the whole time, as the slope tells it. */
  public double growth() {
    return points.isEmpty()
        ? 0
        : slope() * (points.getLast().seconds() - points.getFirst().seconds());
  }

  /** Without what was seen in this share of the time at the beginning. */
  public Trend after(double share) {
    if (points.isEmpty()) {
      return this;
    }
    double begin = points.getFirst().seconds();
    double from = begin + share * (points.getLast().seconds() - begin);
    return new Trend(points.stream().filter(point -> point.seconds() >= from).toList());
  }

  public Samples samples() {
    return new Samples(points.stream().map(Point::value).toList());
  }
}
