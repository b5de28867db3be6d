package dev.zlayer.bench.work;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Samples;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.bench.engine.RestEngine;
import dev.zlayer.bench.engine.ZlayerDaemon;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * What one daemon takes for more and more sleeping containers: to start, list, measure, stop and
 * remove them over REST, and its memory and processor time beside them. What ten times as many may
 * take is a multiple of what {@link #FEW} take.
 */
final class ContainerScale {
  private static final List<Integer> SIZES = List.of(100, 200, 500, 1_000, 2_000);

  private static final int FEW = 200;
  private static final double TIMES_FEW = 5;

  /** The bar for a daemon that idles is for so many containers. */
  private static final int IDLE_CONTAINERS = 1_000;

  private static final double IDLE_PERCENT = 1;

  /** Until the daemon's code for this is compiled: the first size must not pay for it. */
  private static final int FIRST_LOOKS = 200;

  private static final int WARM_LOOKS = 20;
  private static final int LOOKS = 20;

  private static final String LIST = "/containers";
  private static final String STATS = "/stats";

  private final Arena arena;
  private final Options options;

  /** Title to rows, in the order of the first size. */
  private final Map<String, List<Report.Row>> figures = new LinkedHashMap<>();

  private final Map<String, Double> few = new LinkedHashMap<>();

  ContainerScale(Arena arena) {
    this.arena = arena;
    this.options = arena.options();
  }

  List<Report.Table> measure(int most) throws Exception {
    try (var daemon = arena.freshDaemon("containers", Map.of())) {
      var engine =
          new RestEngine(daemon, arena.gallery().busybox(), options.controlGroup() + "/containers");
      add(
          "CPU of the idle daemon beside containers [% of a core]",
          Report.Row.of("none", Idle.percent(options, daemon), ""));
      add("memory of the daemon [MiB]", memory("none", daemon));
      int started = 0;
      for (int size : sizes(most)) {
        start(engine, started, size);
        look(daemon, engine, size, started == 0);
        if (size >= IDLE_CONTAINERS || size == most) {
          idle(daemon, size);
        }
        add("memory of the daemon [MiB]", memory(size + " containers", daemon));
        add(
            "memory of the monitor of each container [MiB]",
            Report.Row.of(size + " containers", daemon.monitorMemory() / size, ""));
        started = size;
      }
      end(daemon, engine, most);
    }
    return figures.entrySet().stream()
        .map(entry -> table(entry.getKey(), entry.getValue()))
        .toList();
  }

  static List<Integer> sizes(int most) {
    var sizes = new ArrayList<>(SIZES.stream().filter(size -> size < most).toList());
    sizes.add(most);
    return sizes;
  }

  private void start(RestEngine engine, int from, int until) throws Exception {
    double millis = Rounds.millis(() -> ScaleWork.all(from, until, engine::startSleeper));
    add(
        "one more container, %d at a time [ms]".formatted(ScaleWork.AT_A_TIME),
        Report.Row.of(
            "up to %d".formatted(until),
            millis / (until - from),
            "%d in %.1f s".formatted(until - from, millis / 1000)));
  }

  private void look(ZlayerDaemon daemon, RestEngine engine, int size, boolean first)
      throws Exception {
    int warm = options.warm(first ? FIRST_LOOKS : WARM_LOOKS);
    require(size, count(daemon, LIST));
    require(size, count(daemon, STATS));
    judged("ps: all containers, GET /containers", size, warm, () -> get(daemon, LIST));
    judged("stats of all containers in one call, GET /stats", size, warm, () -> get(daemon, STATS));
    judged(
        "events: the newest 200, GET /events", size, warm, () -> get(daemon, "/events?last=200"));
    judged("inspect one of them", size, warm, () -> engine.inspect("s0"));
  }

  /** Until all of the answer is there; what a client makes of it is not the daemon's. */
  private static void get(ZlayerDaemon daemon, String path)
      throws IOException, InterruptedException {
    String _ = daemon.ask("GET", path, Json.Null.INSTANCE);
  }

  private static int count(ZlayerDaemon daemon, String path)
      throws IOException, InterruptedException {
    return JsonText.parse(daemon.ask("GET", path, Json.Null.INSTANCE)).items().size();
  }

  private static void require(int wanted, int seen) {
    if (wanted != seen) {
      throw new IllegalStateException("%d of %d containers are there".formatted(seen, wanted));
    }
  }

  private void judged(String title, int size, int warm, Rounds.Step look) throws Exception {
    var values = new ArrayList<Double>();
    for (int time = -warm; time < LOOKS; time++) {
      double millis = Rounds.millis(look);
      if (time >= 0) {
        values.add(millis);
      }
    }
    var samples = new Samples(values);
    if (size == FEW) {
      few.put(title, samples.median());
    }
    String note = "";
    if (size > FEW && few.containsKey(title)) {
      note = Report.verdict(TIMES_FEW * few.get(title), samples.median(), "5 times that of 200");
    }
    add(
        title + " [ms]",
        new Report.Row(size + " containers", samples, OptionalDouble.empty(), note));
  }

  private void idle(ZlayerDaemon daemon, int size) throws Exception {
    double percent = Idle.percent(options, daemon);
    String note = "heap %.0f MiB".formatted(daemon.heap(true));
    String name = size + " containers";
    boolean barred =
        size <= IDLE_CONTAINERS && options.effort() != Options.Effort.SMOKE; // more: stated alone
    add(
        "CPU of the idle daemon beside containers [% of a core]",
        barred
            ? Report.Row.atMost(IDLE_PERCENT, name, percent, note)
            : Report.Row.of(name, percent, note));
  }

  private static Report.Row memory(String name, ZlayerDaemon daemon)
      throws IOException, InterruptedException {
    double heap = daemon.heap(true);
    return Report.Row.of(name, daemon.ownMemory(), "heap %.0f MiB".formatted(heap));
  }

  private void end(ZlayerDaemon daemon, Engine engine, int size) throws Exception {
    each(
        "stop: SIGTERM, and SIGKILL at once",
        size,
        name -> daemon.ask("POST", "/containers/" + name + "/stop?grace=0s", Json.Null.INSTANCE));
    require(0, count(daemon, LIST));
    each("remove one that has ended", size, engine::remove);
    require(0, count(daemon, LIST + "?all=true"));
  }

  private void each(String title, int size, ScaleWork.Step step) throws Exception {
    double millis = Rounds.millis(() -> ScaleWork.all(size, step));
    add(
        "%s, %d at a time [ms]".formatted(title, ScaleWork.AT_A_TIME),
        Report.Row.of(
            size + " containers", millis / size, "all in %.1f s".formatted(millis / 1000)));
  }

  private void add(String title, Report.Row row) {
    figures.computeIfAbsent(title, _ -> new ArrayList<>()).add(row);
  }

  /** The title ends with the unit in brackets; ratios are to 200 containers where there are any. */
  private static Report.Table table(String title, List<Report.Row> rows) {
    int unit = title.lastIndexOf('[');
    String baseline =
        rows.stream()
            .map(Report.Row::contestant)
            .filter(name -> name.endsWith(" " + FEW) || name.startsWith(FEW + " "))
            .findFirst()
            .orElse(rows.getFirst().contestant());
    return new Report.Table(
        title.substring(0, unit).strip(),
        title.substring(unit + 1, title.length() - 1),
        baseline,
        rows);
  }
}
