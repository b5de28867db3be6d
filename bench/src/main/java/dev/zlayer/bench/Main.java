package dev.zlayer.bench;

import dev.zlayer.bench.work.Arena;
import dev.zlayer.bench.work.CliWork;
import dev.zlayer.bench.work.ClusterWork;
import dev.zlayer.bench.work.CommitsWork;
import dev.zlayer.bench.work.DaemonWork;
import dev.zlayer.bench.work.DashboardWork;
import dev.zlayer.bench.work.DiskWork;
import dev.zlayer.bench.work.DockerWork;
import dev.zlayer.bench.work.EndpointsWork;
import dev.zlayer.bench.work.ExecWork;
import dev.zlayer.bench.work.FaultsWork;
import dev.zlayer.bench.work.ImportWork;
import dev.zlayer.bench.work.IngressWork;
import dev.zlayer.bench.work.JobsWork;
import dev.zlayer.bench.work.LogsWork;
import dev.zlayer.bench.work.MicroWork;
import dev.zlayer.bench.work.PullWork;
import dev.zlayer.bench.work.ResultsWork;
import dev.zlayer.bench.work.RunWork;
import dev.zlayer.bench.work.ScaleWork;
import dev.zlayer.bench.work.SchedulerWork;
import dev.zlayer.bench.work.SleepersWork;
import dev.zlayer.bench.work.SoakWork;
import dev.zlayer.bench.work.StartWork;
import dev.zlayer.bench.work.WarmWork;
import dev.zlayer.bench.work.WasmWork;
import dev.zlayer.bench.work.Work;
import dev.zlayer.json.Json;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Measures what the command line asks for and prints it; started by {@code ./benchmark}. */
public final class Main {
  private static final Map<String, Work> WORKS = new LinkedHashMap<>();

  static {
    WORKS.put("micro", new MicroWork());
    WORKS.put("start", new StartWork());
    WORKS.put("cli", new CliWork());
    WORKS.put("pull", new PullWork());
    WORKS.put("run", new RunWork());
    WORKS.put("exec", new ExecWork());
    WORKS.put("wasm", new WasmWork());
    WORKS.put("jobs", new JobsWork());
    WORKS.put("warm", new WarmWork());
    WORKS.put("results", new ResultsWork());
    WORKS.put("logs", new LogsWork());
    WORKS.put("daemon", new DaemonWork());
    WORKS.put("disk", new DiskWork());
    WORKS.put("import", new ImportWork());
    WORKS.put("commits", new CommitsWork());
    WORKS.put("sleepers", new SleepersWork());
    WORKS.put("docker", new DockerWork());
    WORKS.put("endpoints", new EndpointsWork());
    WORKS.put("dashboard", new DashboardWork());
    WORKS.put("ingress", new IngressWork());
    WORKS.put("scale", new ScaleWork());
    WORKS.put("scheduler", new SchedulerWork());
    WORKS.put("cluster", new ClusterWork());
    WORKS.put("soak", new SoakWork());
    WORKS.put("faults", new FaultsWork());
  }

  private Main() {}

  public static void main(String[] arguments) throws Exception {
    Options options;
    try {
      options = Options.parse(arguments, List.copyOf(WORKS.keySet()));
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(2);
      return;
    }
    Json facts = Facts.read();
    facts.members().forEach((name, value) -> System.out.println(name + ": " + text(value)));
    String place = options.effort() == Options.Effort.SMOKE ? "target/smoke" : "target/bench";
    var report = new Report(options.project().resolve(place), System.out, facts);
    boolean failed = false;
    try (var arena = new Arena(options)) {
      for (String name : options.works()) {
        try {
          failed |= !measure(name, arena, report);
        } catch (RuntimeException | java.io.IOException e) {
          System.out.println(name + " failed");
          e.printStackTrace(System.out);
          failed = true;
        }
      }
    }
    System.out.println("figures and plots: " + place + "/report.html");
    System.exit(failed ? 1 : 0);
  }

  /**
   * False when a contestant has no figures, or misses its bar: its note says why. The smallest size
   * is not judged: it also runs beside tests.
   */
  private static boolean measure(String name, Arena arena, Report report) throws Exception {
    Work work = java.util.Objects.requireNonNull(WORKS.get(name));
    double machine = Census.machineSeconds();
    double ours = Census.cpuSeconds();
    long start = System.nanoTime();
    List<Report.Table> tables = work.measure(arena);
    double seconds = (System.nanoTime() - start) / 1e9;
    double others = Census.machineSeconds() - machine - (Census.cpuSeconds() - ours);
    report.add(name, tables, seconds, others / seconds);
    boolean judged = arena.options().effort() != Options.Effort.SMOKE;
    return tables.stream()
        .flatMap(table -> table.rows().stream())
        .noneMatch(
            row -> row.samples().isEmpty() || (judged && row.note().startsWith(Report.MISSED)));
  }

  private static String text(Json value) {
    return value.string().orElseGet(() -> dev.zlayer.json.JsonText.print(value));
  }
}
