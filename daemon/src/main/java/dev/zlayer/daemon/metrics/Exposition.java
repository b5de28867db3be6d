package dev.zlayer.daemon.metrics;

import java.util.Map;
import java.util.stream.Collectors;

/** Writes the text format of Prometheus. Owned by one thread. */
final class Exposition {
  static final String TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private final StringBuilder text = new StringBuilder();

  /** Begins a family; its samples follow. */
  void family(String name, String type, String help) {
    text.append("# HELP ").append(name).append(' ').append(help).append('\n');
    text.append("# TYPE ").append(name).append(' ').append(type).append('\n');
  }

  void sample(String name, String labels, long value) {
    sample(name, labels, (double) value);
  }

  void sample(String name, String labels, double value) {
    text.append(name);
    if (!labels.isEmpty()) {
      text.append('{').append(labels).append('}');
    }
    text.append(' ');
    if (value == Math.rint(value) && Math.abs(value) < 1e15) {
      text.append((long) value);
    } else {
      text.append(value);
    }
    text.append('\n');
  }

  static String labels(Map<String, String> labels) {
    return labels.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .map(entry -> entry.getKey() + "=\"" + escape(entry.getValue()) + "\"")
        .collect(Collectors.joining(","));
  }

  private static String escape(String value) {
    return value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
