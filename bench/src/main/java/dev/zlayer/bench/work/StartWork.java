package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Rounds.Contestant;
import dev.zlayer.bench.engine.Tool;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How long a person waits for a command that does little. */
public final class StartWork implements Work {
  private static final String BASELINE = "spawn /bin/true";

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Path project = arena.options().project();
    String zlayer = project.resolve("dist/bin/zlayer").toString();
    String file = project.resolve("examples/quickstart.zlayer.yml").toString();
    var contestants = new ArrayList<Contestant>();
    contestants.add(Contestant.timed(BASELINE, () -> Tool.run("/bin/true")));
    contestants.add(Contestant.timed("zlayer version", () -> Tool.run(zlayer, "version")));
    contestants.add(Contestant.timed("zlayer validate", () -> Tool.run(zlayer, "validate", file)));
    if (Tool.installed("ctr")) {
      contestants.add(Contestant.timed("ctr --version", () -> Tool.run("ctr", "--version")));
    }
    if (Tool.installed("docker")) {
      contestants.add(Contestant.timed("docker --version", () -> Tool.run("docker", "--version")));
    }
    if (Tool.installed("podman")) {
      contestants.add(Contestant.timed("podman --version", () -> Tool.run("podman", "--version")));
    }
    var rows = Rounds.run(contestants, arena.options().warm(2), arena.options().size(20, 5));
    return List.of(new Report.Table("start of the command line", "ms", BASELINE, rows));
  }
}
