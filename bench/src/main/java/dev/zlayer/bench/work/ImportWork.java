package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Samples;
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
import java.util.concurrent.atomic.AtomicInteger;

/** Whether the daemon still answers while it unpacks archives of many files. */
public final class ImportWork implements Work {
  private static final int ARCHIVES = 3;
  private static final int FILES = 120_000;
  private static final int FEW_FILES = 4_000;
  private static final int QUESTIONS = 1_000;
  private static final double MOST = 10;

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
    try {
      ask(daemon, () -> false); // warms it
      Samples idle = ask(daemon, () -> false);
      Samples busy = whileImporting(daemon, archives);
      double ratio = busy.p99() / idle.p99();
      if (files == FILES && ratio > MOST) {
        throw new IllegalStateException(
            "an answer takes %.1f times as long (p99) while archives are imported"
                .formatted(ratio));
      }
      return List.of(
          new Report.Table(
              "GET /health/live while %d archives of %d files are imported"
                  .formatted(ARCHIVES, files),
              "ms",
              "idle",
              List.of(row("idle", idle), row("importing", busy))));
    } finally {
      for (Path archive : archives) {
        Files.delete(archive);
      }
      for (int number = 0; number < ARCHIVES; number++) {
        daemon.run("image", "rm", "-f", name(number));
      }
    }
  }

  private static Report.Row row(String name, Samples samples) {
    String note = "p99 %.2f ms of %d".formatted(samples.p99(), samples.values().size());
    return new Report.Row(name, samples, java.util.OptionalDouble.empty(), note);
  }

  private static Samples whileImporting(ZlayerDaemon daemon, List<Path> archives) throws Exception {
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
      Samples samples = ask(daemon, () -> left.get() > 0);
      scope.join();
      return samples;
    }
  }

  /** Goes on asking while there is a reason to; a refused question is an error. */
  private static Samples ask(ZlayerDaemon daemon, java.util.function.BooleanSupplier more)
      throws IOException, InterruptedException {
    var values = new ArrayList<Double>();
    while (values.size() < QUESTIONS || more.getAsBoolean()) {
      long start = System.nanoTime();
      daemon.ask("GET", "/health/live", Json.Null.INSTANCE);
      values.add((System.nanoTime() - start) / 1e6);
    }
    return new Samples(values);
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
