package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.bench.engine.Tool;
import java.util.ArrayList;
import java.util.List;

/** What containers of one image need on the disk besides the image. */
public final class DiskWork implements Work {
  private static final int CONTAINERS = 10;

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Arena.Engines engines = arena.engines();
    var rows = new ArrayList<Report.Row>();
    for (Engine engine : engines.plain()) {
      rows.add(Report.Row.of(engine.name(), grown(engine), ""));
    }
    return List.of(
        new Report.Table(
            "disk for %d containers of one image".formatted(CONTAINERS),
            "KiB",
            engines.floor().name(),
            rows));
  }

  private static double grown(Engine engine) throws Exception {
    double before = kibibytes(engine);
    var names = new ArrayList<String>();
    try {
      for (int number = 0; number < CONTAINERS; number++) {
        String name = "d" + number;
        engine.startSleeper(name);
        names.add(name);
      }
      return kibibytes(engine) - before;
    } finally {
      for (String name : names) {
        engine.remove(name);
      }
    }
  }

  /** Mounted root file systems are other file systems and do not count. */
  private static double kibibytes(Engine engine) throws InterruptedException {
    String told = Tool.run("du", "-skx", engine.home().toString());
    return Double.parseDouble(told.split("\\s", 2)[0]);
  }
}
