package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.engine.DockerEngine;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.bench.engine.PodmanEngine;
import dev.zlayer.bench.engine.RestJobs;
import dev.zlayer.bench.engine.ZlayerDaemon;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What a job is for: its exit code and its output, not only that it ran. Ours is recorded and kept;
 * with Docker a script creates, starts, waits, reads the logs and removes; Podman prints in the
 * foreground.
 */
public final class ResultsWork implements Work {
  private static final int AT_A_TIME = 8;
  private static final String LOOP = "docker, loop over its API";

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    int jobs = arena.options().size(100, 16);
    List<Engine> engines = arena.engines().plain();
    Optional<ZlayerDaemon> daemon = arena.daemon();
    if (daemon.isEmpty()) {
      return List.of();
    }
    var ours =
        new RestJobs(
            daemon.get(), arena.gallery().busybox(), arena.options().controlGroup(), AT_A_TIME);
    var contestants =
        new ArrayList<>(
            List.of(JobsWork.perSecond("zlayer, jobs through REST", ours::run, jobs, AT_A_TIME)));
    for (Engine engine : engines) {
      switch (engine) {
        case DockerEngine docker ->
            contestants.add(JobsWork.perSecond(LOOP, docker::runJob, jobs, AT_A_TIME));
        case PodmanEngine podman ->
            contestants.add(JobsWork.perSecond("podman run --rm", podman::runJob, jobs, AT_A_TIME));
        default -> {} // containerd keeps no output
      }
    }
    return List.of(
        new Report.Table(
            "%d jobs with exit code and output, %d at a time".formatted(jobs, AT_A_TIME),
            "per second",
            LOOP,
            Rounds.run(contestants, arena.options().warm(2), arena.options().size(4, 2))));
  }
}
