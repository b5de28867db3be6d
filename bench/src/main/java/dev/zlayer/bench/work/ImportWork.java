package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Samples;
import dev.zlayer.bench.engine.NameQuestion;
import dev.zlayer.bench.engine.ZlayerDaemon;
import dev.zlayer.json.Json;
import dev.zlayer.tar.TarKind;
import dev.zlayer.tar.TarMember;
import dev.zlayer.tar.TarWriter;
import dev.zlayer.task.TaskScope;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/** Whether the daemon still answers, and its name server, while it unpacks many files. */
public final class ImportWork implements Work {
  private static final int ARCHIVES = 3;
  private static final int FILES = 120_000;
  private static final int FEW_FILES = 4_000;
  private static final int QUESTIONS = 1_000;
  private static final double MOST = 10;

  /** How long each question took, in milliseconds. */
  private record Answers(Samples live, Samples names) {}

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Optional<ZlayerDaemon> found = arena.daemon();
    if (found.isEmpty()) {
      return List.of();
    }
    ZlayerDaemon daemon = found.get();
    int files = arena.options().size(FILES, FEW_FILES);
    List<Path> archives = new ArrayList<>();
    for (int number = 0; number < ARCHIVES; number++) {
      archives.add(archive(Files.createTempFile("import", ".tar"), files, number));
    }
    try (var names =
        NameQuestion.open(
            daemon,
            arena.gallery().busybox().canonical(),
            arena.options().controlGroup() + "/names")) {
      ask(daemon, names, () -> false); // warms both
      Answers idle = ask(daemon, names, () -> false);
      Answers busy = whileImporting(daemon, names, archives);
      for (int number = 0; number < ARCHIVES; number++) {
        daemon.run("image", "rm", "-f", name(number));
      }
      String meanwhile = " while %d archives of %d files are imported".formatted(ARCHIVES, files);
      boolean judged = files == FILES;
      return List.of(
          table("GET /health/live" + meanwhile, judged, idle.live(), busy.live()),
          table("a DNS query" + meanwhile, judged, idle.names(), busy.names()));
    } finally {
      for (Path archive : archives) {
        Files.delete(archive);
      }
    }
  }

  private static Report.Table table(String title, boolean judged, Samples idle, Samples busy) {
    double ratio = busy.p99() / idle.p99();
    String verdict =
        "p99 is %.1f times that of idle, which %s the bar of %.0f"
            .formatted(ratio, ratio <= MOST ? "meets" : "is above", MOST);
    if (judged && ratio > MOST) {
      verdict = Report.MISSED + ": " + verdict;
    }
    return new Report.Table(
        title, "ms", "idle", List.of(row("idle", idle, ""), row("importing", busy, verdict)));
  }

  private static Report.Row row(String name, Samples samples, String verdict) {
    String figures = "p99 %.2f ms of %d".formatted(samples.p99(), samples.values().size());
    String note = verdict.isEmpty() ? figures : verdict + "; " + figures;
    return new Report.Row(name, samples, OptionalDouble.empty(), note);
  }

  private static Answers whileImporting(
      ZlayerDaemon daemon, NameQuestion names, List<Path> archives) throws Exception {
    var left = new AtomicInteger(archives.size());
    try (var scope = new TaskScope("imports")) {
      for (int i = 0; i < archives.size(); i++) {
        int number = i;
        scope.fork(
            () -> {
              try {
                return daemon.run("image", "import", archives.get(number) + "", name(number));
              } finally {
                left.decrementAndGet();
              }
            });
      }
      Answers answers = ask(daemon, names, () -> left.get() > 0);
      scope.join();
      return answers;
    }
  }

  /** Goes on asking while there is a reason to; a question without its answer is an error. */
  private static Answers ask(ZlayerDaemon daemon, NameQuestion names, BooleanSupplier more)
      throws IOException, InterruptedException {
    var live = new ArrayList<Double>();
    var addresses = new ArrayList<Double>();
    while (live.size() < QUESTIONS || more.getAsBoolean()) {
      long start = System.nanoTime();
      daemon.ask("GET", "/health/live", Json.Null.INSTANCE);
      long between = System.nanoTime();
      names.ask();
      live.add((between - start) / 1e6);
      addresses.add((System.nanoTime() - between) / 1e6);
    }
    return new Answers(new Samples(live), new Samples(addresses));
  }

  private static String name(int number) {
    return "bulk:" + number;
  }

  private static Path archive(Path file, int files, int number) throws IOException {
    var time = new TarMember.TarTime(0, 0);
    byte[] content = ("archive " + number).getBytes(java.nio.charset.StandardCharsets.UTF_8);
    try (var out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 20)) {
      var tar = new TarWriter(out);
      for (int i = 0; i < files; i++) {
        String name = "d%d/f%d".formatted(i / 100, i);
        tar.begin(
            new TarMember(
                TarKind.FILE, name, "", 0644, 0, 0, content.length, time, time, 0, 0, Map.of()));
        tar.content(content, 0, content.length);
      }
      tar.finish();
    }
    return file;
  }
}
