package dev.zlayer.bench.work;

import dev.zlayer.bench.Census;
import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Samples;
import dev.zlayer.bench.engine.IngressPeers;
import dev.zlayer.bench.engine.IngressPeers.Peer;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Requests through the ingress and through other proxies, all with the same hosts, with an access
 * log, and in front of the same server.
 */
public final class IngressWork implements Work {
  private static final double OF_HAPROXY = 0.97;
  private static final double OF_CADDY = 1.5;
  private static final double WORST_OUTAGE_MILLIS = 1000;
  private static final Pattern RATE = Pattern.compile("Requests/sec: +([0-9.]+)");
  private static final Pattern P99 = Pattern.compile("99% +([0-9.]+)(us|ms|s)");
  private static final Map<String, Double> MILLIS = Map.of("us", 0.001, "ms", 1.0, "s", 1000.0);

  /** In a view of the file system where the name of the host is known. */
  private static final String WITH_HOSTS = "mount --bind \"$0\" /etc/hosts && exec wrk \"$@\"";

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Options options = arena.options();
    boolean smoke = options.effort() == Options.Effort.SMOKE;
    int hosts = options.size(1000, 1000);
    try (var peers = IngressPeers.open(options.directory().resolve("i"), hosts, others(options))) {
      Path names = Files.writeString(options.directory().resolve("names"), names());
      var load = new Load(names, options.effort() == Options.Effort.WHOLE ? 5 : smoke ? 1 : 3);
      var tables = new ArrayList<Report.Table>();
      var latencies = new HashMap<String, List<Double>>();
      var work = new HashMap<String, List<Double>>();
      List<Report.Row> rates =
          // a percentile needs more rounds than a mean
          load.run(peers.all(), Peer::http, List.of(), options.size(13, 2), latencies, work);
      tables.add(
          new Report.Table(
              "requests with %d hosts configured".formatted(hosts),
              "requests / s",
              IngressPeers.BY_HAND,
              smoke ? rates : judged(rates, IngressWork::rate)));
      tables.add(
          new Report.Table(
              "their 99th percentile",
              "ms",
              IngressPeers.BY_HAND,
              smoke
                  ? rows(peers.all(), latencies)
                  : judged(rows(peers.all(), latencies), IngressWork::latency)));
      tables.add(
          new Report.Table(
              "processor time of the proxy for each of them",
              "µs",
              IngressPeers.BY_HAND,
              rows(peers.all().stream().filter(peer -> !peer.place().isEmpty()).toList(), work)));
      tables.add(
          new Report.Table(
              "requests with a new TLS connection each",
              "requests / s",
              IngressPeers.BY_HAND,
              load.run(
                  peers.all().stream().filter(peer -> peer.https() > 0).toList(),
                  Peer::https,
                  List.of("-H", "Connection: close"),
                  options.size(5, 2),
                  new HashMap<>(),
                  new HashMap<>())));
      tables.add(changes(peers, options.size(100, 20)));
      tables.add(memory(peers));
      tables.add(crashes(peers, options.size(5, 2)));
      return tables;
    }
  }

  /** None with {@code --peers none}: HAProxy by hand takes part always. */
  private static List<String> others(Options options) {
    return options.peers().isEmpty()
        ? List.of()
        : List.of(IngressPeers.CADDY, IngressPeers.NGINX, IngressPeers.JETTY);
  }

  private static String names() {
    return "127.0.0.1 localhost %s %s\n".formatted(IngressPeers.HOST, IngressPeers.TLS_HOST);
  }

  private static List<Report.Row> rows(List<Peer> peers, Map<String, List<Double>> values) {
    return peers.stream()
        .map(
            peer ->
                Report.Row.of(
                    peer.name(), new Samples(values.getOrDefault(peer.name(), List.of()))))
        .toList();
  }

  /** Ours has to keep up with HAProxy as somebody would configure it, and be ahead of Caddy. */
  private static List<Report.Row> judged(
      List<Report.Row> rows, Function<Map<String, Double>, String> verdict) {
    var medians = new HashMap<String, Double>();
    rows.forEach(row -> medians.put(row.contestant(), row.samples().median()));
    return rows.stream()
        .map(
            row ->
                row.contestant().equals(IngressPeers.OURS)
                    ? new Report.Row(
                        row.contestant(),
                        row.samples(),
                        OptionalDouble.empty(),
                        verdict.apply(medians))
                    : row)
        .toList();
  }

  private static String rate(Map<String, Double> medians) {
    double ours = medians.getOrDefault(IngressPeers.OURS, Double.NaN);
    double byHand = ours / medians.getOrDefault(IngressPeers.BY_HAND, Double.NaN);
    double caddy = ours / medians.getOrDefault(IngressPeers.CADDY, Double.NaN);
    double shorter = ours / medians.getOrDefault(IngressPeers.SHORT, Double.NaN);
    String verdict = byHand < OF_HAPROXY || caddy < OF_CADDY ? Report.MISSED : "meets";
    return Double.isNaN(caddy)
        ? String.format(
            Locale.ROOT,
            "%s %.2f x HAProxy by hand (%.2f; %.2f x the short one)",
            verdict,
            OF_HAPROXY,
            byHand,
            shorter)
        : String.format(
            Locale.ROOT,
            "%s %.2f x HAProxy by hand and %.1f x Caddy (%.2f, %.2f; %.2f x the short one)",
            verdict,
            OF_HAPROXY,
            OF_CADDY,
            byHand,
            caddy,
            shorter);
  }

  private static String latency(Map<String, Double> medians) {
    double ratio =
        medians.getOrDefault(IngressPeers.BY_HAND, Double.NaN)
            / medians.getOrDefault(IngressPeers.OURS, Double.NaN);
    return String.format(
        Locale.ROOT,
        "%s %.2f x as short as HAProxy by hand (%.2f)",
        ratio < OF_HAPROXY ? Report.MISSED : "meets",
        OF_HAPROXY,
        ratio);
  }

  /** From the call until a request is answered by the other replica. */
  private static Report.Table changes(IngressPeers peers, int updates) throws Exception {
    String before = peers.workers();
    var samples = new ArrayList<Double>();
    for (int update = 0; update < updates; update++) {
      boolean second = update % 2 == 0;
      samples.add(
          Rounds.millis(
              () -> {
                peers.serveBy(second);
                if (!peers.answer().equals(second ? "two\n" : "one\n")) {
                  throw new IOException("a request went to the replica before");
                }
              }));
    }
    boolean same = peers.workers().equals(before);
    return new Report.Table(
        "another replica until it is served, as the only one",
        "ms",
        "",
        List.of(
            new Report.Row(
                IngressPeers.OURS,
                new Samples(samples),
                OptionalDouble.empty(),
                same ? "without a reload" : Report.MISSED + ": it was reloaded")));
  }

  /** From the kill of the process that serves requests until one is answered again. */
  private static Report.Table crashes(IngressPeers peers, int kills) throws Exception {
    peers.serveBy(false);
    var samples = new ArrayList<Double>();
    for (int kill = 0; kill < kills; kill++) {
      samples.add(Rounds.millis(peers::killWorker));
    }
    boolean soon = samples.stream().allMatch(millis -> millis < WORST_OUTAGE_MILLIS);
    return new Report.Table(
        "a killed worker until requests are answered again",
        "ms",
        "",
        List.of(
            new Report.Row(
                IngressPeers.OURS,
                new Samples(samples),
                OptionalDouble.empty(),
                soon ? "within a second" : Report.MISSED + ": more than a second")));
  }

  private static Report.Table memory(IngressPeers peers) {
    var rows = new ArrayList<Report.Row>();
    for (Peer peer : peers.all()) {
      if (!peer.place().isEmpty()) {
        rows.add(
            Report.Row.of(
                peer.name(), Census.memory(line -> line.contains(peer.place())), "after that"));
      }
    }
    return new Report.Table("memory of the processes", "MiB", IngressPeers.BY_HAND, rows);
  }

  /** wrk for some seconds. */
  private record Load(Path names, int seconds) {
    List<Report.Row> run(
        List<Peer> peers,
        java.util.function.ToIntFunction<Peer> port,
        List<String> more,
        int rounds,
        Map<String, List<Double>> latencies,
        Map<String, List<Double>> work)
        throws InterruptedException {
      var contestants = new ArrayList<Rounds.Contestant>();
      for (Peer peer : peers) {
        List<Double> own = latencies.computeIfAbsent(peer.name(), _ -> new ArrayList<>());
        List<Double> spent = work.computeIfAbsent(peer.name(), _ -> new ArrayList<>());
        contestants.add(
            new Rounds.Contestant(
                peer.name(),
                Rounds.Step.NOTHING,
                () -> {
                  double before = seconds(peer);
                  double rate =
                      once(port.applyAsInt(peer), port.applyAsInt(peer) == peer.https(), more, own);
                  spent.add((seconds(peer) - before) / (rate * seconds) * 1e6);
                  return rate;
                },
                Rounds.Step.NOTHING));
      }
      Rounds.run(contestants, 0, seconds == 1 ? 0 : 1); // to warm up
      latencies.values().forEach(List::clear);
      work.values().forEach(List::clear);
      return Rounds.run(contestants, 0, rounds);
    }

    /** What its processes used so far, those that write its log included. */
    private static double seconds(Peer peer) {
      return peer.place().isEmpty()
          ? 0
          : Census.cpuSecondsOfAll(line -> line.contains(peer.place()));
    }

    private double once(int port, boolean tls, List<String> more, List<Double> latencies)
        throws Exception {
      var words =
          new ArrayList<>(
              List.of("unshare", "-m", "sh", "-c", WITH_HOSTS, names.toString(), "-t1", "-c32"));
      words.addAll(List.of("-d" + seconds + "s", "--timeout", "10s", "--latency"));
      words.addAll(more);
      words.add(
          tls
              ? "https://%s:%d/".formatted(IngressPeers.TLS_HOST, port)
              : "http://%s:%d/".formatted(IngressPeers.HOST, port));
      String report =
          Processes.check(Command.of(words), Deadline.after(Duration.ofSeconds(seconds + 30)))
              .stdout();
      Matcher rate = RATE.matcher(report);
      Matcher latency = P99.matcher(report);
      boolean failed = report.contains("Non-2xx") || report.contains("Socket errors");
      if (failed || !rate.find() || !latency.find()) {
        throw new IOException("requests failed: " + report);
      }
      latencies.add(
          Double.parseDouble(latency.group(1)) * MILLIS.getOrDefault(latency.group(2), 1.0));
      return Double.parseDouble(rate.group(1));
    }
  }
}
