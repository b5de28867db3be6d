package dev.zlayer.daemon.metrics;

import dev.zlayer.daemon.http.HttpObserver;
import dev.zlayer.task.Stopwatch;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts what happens. Names, labels and help texts are in this class alone. May be used from any
 * thread.
 */
public final class Metrics implements HttpObserver {
  private final Family<LongAdder> counters = new Family<>(LongAdder::new);
  private final Family<Histogram> histograms = new Family<>(Histogram::new);
  private final LongAdder inFlight = new LongAdder();

  /** A gauge is read when somebody asks. */
  public interface Gauges {
    List<Gauge> read();
  }

  /** A figure as it is now; counted elsewhere when its name ends with {@code _total}. */
  public record Gauge(String name, String help, Map<String, String> labels, double value) {}

  private record Key(String name, String labels) implements Comparable<Key> {
    @Override
    public int compareTo(Key other) {
      int order = name.compareTo(other.name);
      return order == 0 ? labels.compareTo(other.labels) : order;
    }
  }

  private static final class Family<T> {
    final Map<Key, T> members = new ConcurrentSkipListMap<>();
    final Map<String, String> help = new ConcurrentHashMap<>();
    private final java.util.function.Supplier<T> maker;

    Family(java.util.function.Supplier<T> maker) {
      this.maker = maker;
    }

    T of(String name, String text, Map<String, String> labels) {
      help.putIfAbsent(name, text);
      return members.computeIfAbsent(new Key(name, Exposition.labels(labels)), _ -> maker.get());
    }
  }

  public void count(String name, String help, Map<String, String> labels) {
    counters.of(name, help, labels).increment();
  }

  public void took(String name, String help, Map<String, String> labels, Duration duration) {
    histograms.of(name, help, labels).add(duration);
  }

  @Override
  public Timing begin() {
    inFlight.increment();
    var watch = Stopwatch.started();
    return new Timing() {
      @Override
      public void end(String method, String template, int status) {
        took(
            "zlayer_http_request_seconds",
            "How long requests took.",
            Map.of("method", method, "route", template, "status", Integer.toString(status)),
            watch.passed());
      }

      @Override
      public void close() {
        inFlight.decrement();
      }
    };
  }

  /** Everything as text, with the figures of the moment. */
  public String text(Gauges gauges) {
    var out = new Exposition();
    String last = "";
    for (Gauge gauge : gauges.read()) {
      if (!gauge.name().equals(last)) {
        String type = gauge.name().endsWith("_total") ? "counter" : "gauge";
        out.family(gauge.name(), type, gauge.help());
        last = gauge.name();
      }
      out.sample(gauge.name(), Exposition.labels(gauge.labels()), gauge.value());
    }
    out.family("zlayer_http_requests_in_flight", "gauge", "Requests being answered.");
    out.sample("zlayer_http_requests_in_flight", "", inFlight.sum());
    last = "";
    for (var counter : counters.members.entrySet()) {
      String name = counter.getKey().name();
      if (!name.equals(last)) {
        out.family(name, "counter", counters.help.getOrDefault(name, ""));
        last = name;
      }
      out.sample(name, counter.getKey().labels(), counter.getValue().sum());
    }
    for (var histogram : histograms.members.entrySet()) {
      String name = histogram.getKey().name();
      if (!name.equals(last)) {
        out.family(name, "histogram", histograms.help.getOrDefault(name, ""));
        last = name;
      }
      histogram.getValue().write(out, name, histogram.getKey().labels());
    }
    return out.toString();
  }

  public static String type() {
    return Exposition.TYPE;
  }
}
