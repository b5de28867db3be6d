package dev.zlayer.bench;

import java.util.List;

/** Values of one figure, in the order they were measured. */
public record Samples(List<Double> values) {
  public Samples {
    values = List.copyOf(values);
  }

  public static Samples of(double value) {
    return new Samples(List.of(value));
  }

  public boolean isEmpty() {
    return values.isEmpty();
  }

  public double median() {
    return quantile(0.5);
  }

  public double p95() {
    return quantile(0.95);
  }

  public double p99() {
    return quantile(0.99);
  }

  /** The nearest value; with an even number the median is the lower one of the middle. */
  private double quantile(double share) {
    if (values.isEmpty()) {
      return Double.NaN;
    }
    List<Double> sorted = values.stream().sorted().toList();
    return sorted.get((int) Math.ceil(share * sorted.size()) - 1);
  }
}
