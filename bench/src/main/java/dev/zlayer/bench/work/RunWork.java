package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Rounds.Contestant;
import dev.zlayer.bench.engine.DockerEngine;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.bench.engine.RestEngine;
import dev.zlayer.bench.engine.Tool;
import java.util.ArrayList;
import java.util.List;

/** The life of a container that runs {@code true}, end to end. */
public final class RunWork implements Work {
  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    Arena.Engines engines = arena.engines();
    var contestants = new ArrayList<Contestant>();
    contestants.add(Contestant.timed("spawn /bin/true", () -> Tool.run("/bin/true")));
    Engine like = arena.likeFloor();
    contestants.add(Contestant.timed(like.name(), like::runTrue));
    engines
        .all()
        .forEach(engine -> contestants.add(Contestant.timed(engine.name(), engine::runTrue)));
    for (Engine engine : engines.plain()) {
      switch (engine) {
        case RestEngine ours -> contestants.add(byCommand("zlayer", ours::runByCommand));
        case DockerEngine docker -> contestants.add(byCommand("docker", docker::runByCommand));
        default -> {} // containerd and Podman are driven by their commands anyway
      }
    }
    var options = arena.options();
    var rows = Rounds.run(contestants, options.warm(options.size(30, 2)), options.size(50, 5));
    return List.of(
        new Report.Table(
            "run true: create, start, exit known, remove", "ms", engines.floor().name(), rows));
  }

  private static Contestant byCommand(String program, Rounds.Step run) {
    return Contestant.timed(program + " run --rm", run);
  }
}
