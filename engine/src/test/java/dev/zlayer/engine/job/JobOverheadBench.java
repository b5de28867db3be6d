package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.state.SqliteStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.state.StoreConfig;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TaskScope;
import dev.zlayer.task.TimeSource;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Prints what the engine itself costs; a fake runtime does the rest. Not part of the suite: run it
 * with {@code -Dit.test=JobOverheadBench}.
 */
class JobOverheadBench {
  private static final List<JobDefinition> JOBS =
      Jobs.parse("one: {rtype: job, image: app:1, job: {queue: 100000, concurrency: 64}}");

  @TempDir Path directory;

  @Test
  void inMemory() throws InterruptedException {
    measure("memory", new MemoryStateStore());
  }

  @Test
  void onDisk() throws InterruptedException {
    measure("sqlite", SqliteStateStore.open(directory.resolve("state.db"), StoreConfig.DEFAULT));
  }

  private void measure(String name, StateStore store) throws InterruptedException {
    var parts =
        new JobParts(
            store,
            new FakeRuntime(new FakeWorld(InstantSource.system())),
            Jobs::container,
            (_, _) -> {},
            directory,
            TimeSource.of(InstantSource.system()),
            Pauses.REAL,
            new Random(),
            new Supervisor());
    try (store;
        var executor = JobExecutor.open(parts, JobConfig.DEFAULT, JOBS)) {
      runOneByOne(executor, 200);
      List<Duration> toRunning = runOneByOne(executor, 500);
      Collections.sort(toRunning);
      long start = System.nanoTime();
      runTogether(executor, 8, 250);
      double seconds = (System.nanoTime() - start) / 1e9;
      System.out.printf(
          "%s: trigger to running median %.3f ms, p99 %.3f ms; %.0f jobs/s with 8 callers%n",
          name,
          toRunning.get(250).toNanos() / 1e6,
          toRunning.get(494).toNanos() / 1e6,
          2000 / seconds);
      assertThat(executor.list())
          .allSatisfy(e -> assertThat(e.status().text()).isEqualTo("completed(0)"));
    }
  }

  private static List<Duration> runOneByOne(JobExecutor executor, int count)
      throws InterruptedException {
    var durations = new ArrayList<Duration>();
    for (int i = 0; i < count; i++) {
      Execution done = runOne(executor);
      durations.add(Duration.between(done.createdAt(), done.attempt().runningAt().orElseThrow()));
    }
    return durations;
  }

  private static void runTogether(JobExecutor executor, int callers, int each)
      throws InterruptedException {
    try (var scope = new TaskScope("callers")) {
      for (int caller = 0; caller < callers; caller++) {
        scope.fork(
            () -> {
              for (int i = 0; i < each; i++) {
                runOne(executor);
              }
              return true;
            });
      }
      scope.join();
    }
  }

  private static Execution runOne(JobExecutor executor) throws InterruptedException {
    ExecutionId id =
        executor.trigger(
            TriggerRequest.of(Jobs.key("one"), new Trigger.Cli())
                .with(Jobs.behaving(Map.of("exit", "0"))));
    return executor.await(id, Deadline.after(Duration.ofSeconds(30)));
  }
}
